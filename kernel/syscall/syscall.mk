# The table of system calls: prototypes for everyone, and the dispatch table.
SYSCALL_GENERATE := python3 syscall/generate.py syscall/syscalls.tbl --abi $(ABI)
GENERATED += $(BUILD)/include/syscall_prototypes.h
OBJECTS += $(BUILD)/syscall/table.o
$(BUILD)/include/asm_offsets.h: | $(BUILD)/include/syscall_prototypes.h

$(BUILD)/include/syscall_prototypes.h $(BUILD)/syscall/table.c &: syscall/syscalls.tbl syscall/generate.py syscall/syscall.mk
	$(SYSCALL_GENERATE) --prototypes $(BUILD)/include/syscall_prototypes.h --table $(BUILD)/syscall/table.c

$(BUILD)/syscall/table.o: $(BUILD)/syscall/table.c Makefile arch/$(ARCH)/arch.mk | $(GENERATED)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# The page of the manual and the fuzzer's specification.
$(BUILD)/syscalls.md $(BUILD)/syscalls.json &: syscall/syscalls.tbl syscall/generate.py syscall/syscall.mk
	$(SYSCALL_GENERATE) --documentation $(BUILD)/syscalls.md --fuzz $(BUILD)/syscalls.json
