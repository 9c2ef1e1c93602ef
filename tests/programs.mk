# The programs that test the kernel, as part of user/Makefile: a test's program of tests/user becomes
# build/user/test/<subject>, an attack of tests/hostile build/user/hostile/<class>. Folders `ppc` and `x86` have what only
# that architecture can test.
#
# The path begins at the folder in which make runs, user.
TESTS := ../tests

test_sources = $(wildcard $(TESTS)/$(1)/*.c $(TESTS)/$(1)/$(ARCH)/*.c)
TEST_NAMES := $(filter-out $(LEFT_OUT),$(basename $(notdir $(call test_sources,user))))
HOSTILE_NAMES := $(basename $(notdir $(call test_sources,hostile)))
TEST_PROGRAMS := $(TEST_NAMES:%=$(BUILD)/test/%)
HOSTILE_PROGRAMS := $(HOSTILE_NAMES:%=$(BUILD)/hostile/%)
SINGLE_PROGRAMS := $(addprefix $(BUILD)/,suite failalloc arguments checker)

tests: test hostile $(SINGLE_PROGRAMS) $(BUILD)/fuzz $(BUILD)/calltable
test: $(TEST_PROGRAMS)
hostile: $(HOSTILE_PROGRAMS)

$(BUILD)/obj/tests/%.o: $(TESTS)/%.c $(TESTS)/programs.mk Makefile arch/$(ARCH)/arch.mk
	@mkdir -p $(@D)
	@echo "  CC tests/$*.c"
	@$(CC) $(CFLAGS) $(HOSTED) -I$(TESTS) -I$(TESTS)/user -I$(TESTS)/user/$(ARCH) -I$(TESTS)/hostile -c -o $@ $<

test_objects = $(patsubst $(TESTS)/%.c,$(BUILD)/obj/tests/%.o,$(wildcard $(addprefix $(TESTS)/,$(1))))
TEST_COMMON := $(call test_objects,user/common/*.c) $(addprefix $(BUILD)/obj/,$(SUPPORT:=.o))
HOSTILE_COMMON := $(call test_objects,hostile/common/*.c)

$(TEST_PROGRAMS): $(BUILD)/test/%: $$(call test_objects,user/$$*.c user/$(ARCH)/$$*.c) $(TEST_COMMON)
	@mkdir -p $(@D)
	@echo "  LD $@"
	@$(CC) $(LDFLAGS) -pthread -o $@ $^ -lm

$(HOSTILE_PROGRAMS): $(BUILD)/hostile/%: $$(call test_objects,hostile/$$*.c hostile/$(ARCH)/$$*.c) $(HOSTILE_COMMON) $(TEST_COMMON)
	@mkdir -p $(@D)
	@echo "  LD $@"
	@$(CC) $(LDFLAGS) -pthread -o $@ $^

$(SINGLE_PROGRAMS): $(BUILD)/%: $(BUILD)/obj/tests/%/$$(notdir $$*).o
	@echo "  LD $@"
	@$(CC) $(LDFLAGS) -pthread -o $@ $^

# The only program that names an interpreter and finds its libraries when it runs.
$(BUILD)/dynamic: $(BUILD)/obj/tests/dynamic/dynamic.o
	@echo "  LD $@"
	@$(CC) -no-pie -Wl,-z,noexecstack -Wl,--build-id=none -o $@ $^

$(BUILD)/calltable: $(call test_objects,calltable/*.c) $(addprefix $(BUILD)/obj/,$(SUPPORT:=.o))
	@echo "  LD $@"
	@$(CC) $(LDFLAGS) -o $@ $^

# The fuzzer's table comes from the kernel's.
SYSCALLS := ../kernel/syscall
FUZZ_TABLE := $(BUILD)/obj/tests/fuzz/table.c
$(FUZZ_TABLE): $(SYSCALLS)/syscalls.tbl $(SYSCALLS)/generate.py
	@mkdir -p $(@D)
	python3 $(SYSCALLS)/generate.py $(SYSCALLS)/syscalls.tbl --abi $(ABI) --fuzz-table $@

$(BUILD)/obj/tests/fuzz/table.o: $(FUZZ_TABLE) Makefile
	@echo "  CC $<"
	@$(CC) $(CFLAGS) $(HOSTED) -I$(TESTS)/fuzz -c -o $@ $<

$(BUILD)/fuzz: $(call test_objects,fuzz/*.c) $(BUILD)/obj/tests/fuzz/table.o $(addprefix $(BUILD)/obj/,$(SUPPORT:=.o))
	@echo "  LD $@"
	@$(CC) $(LDFLAGS) -o $@ $^
