# What the build of the kernel for PowerPC has of its own.
CROSS ?= powerpc-linux-gnu-
CC := $(CROSS)gcc
ABI := ppc32
MACHINE := -ffixed-r2 -mcpu=powerpc -mno-altivec -msoft-float -mregnames -mno-sdata -mbig-endian
LIBRARIES := -lgcc
EXTRA := $(BUILD)/rom.bin

$(BUILD)/rom.bin: arch/ppc/boot/rom.S
	@mkdir -p $(dir $@)
	@$(CC) $(CPPFLAGS) -mregnames -nostdlib -static -Wl,-Ttext=0xfff00000 -Wl,--build-id=none -o $(BUILD)/rom.elf $<
	@$(CROSS)objcopy -O binary -j .text --pad-to 0x100000000 --gap-fill 0 $(BUILD)/rom.elf $@
