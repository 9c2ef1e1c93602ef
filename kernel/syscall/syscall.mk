# The table of system calls: prototypes for everyone, and the dispatch table.
SYSCALL_GENERATE := python3 syscall/generate.py syscall/syscalls.tbl --abi $(ABI)
GENERATED += $(OWN)/include/syscall_prototypes.h
OBJECTS += $(OWN)/syscall/table.o
$(OWN)/include/asm_offsets.h: | $(OWN)/include/syscall_prototypes.h

$(OWN)/include/syscall_prototypes.h $(OWN)/syscall/table.c &: syscall/syscalls.tbl syscall/generate.py syscall/syscall.mk
	$(SYSCALL_GENERATE) --prototypes $(OWN)/include/syscall_prototypes.h --table $(OWN)/syscall/table.c

$(OWN)/syscall/table.o: $(OWN)/syscall/table.c Makefile arch/$(ARCH)/arch.mk | $(GENERATED)
	@$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# The page of the manual and the fuzzer's specification.
$(BUILD)/syscalls.md $(BUILD)/syscalls.json &: syscall/syscalls.tbl syscall/generate.py syscall/syscall.mk
	$(SYSCALL_GENERATE) --documentation $(BUILD)/syscalls.md --fuzz $(BUILD)/syscalls.json
