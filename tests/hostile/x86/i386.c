/*
 * What a program may do with an i386's segments, flags, stack pointer, single steps and instructions: the kernel takes
 * any of it, and answers with a signal at most.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "i386.h"

static uint32_t code_selector(void)
{
	uint32_t selector;

	__asm__("movl %%cs, %0" : "=r"(selector));
	return selector;
}

/* What a signal's death looks like, but for those that say that the kernel has lost its way. */
static int is_fault(int status)
{
	return status == 1000 + SIGSEGV || status == 1000 + SIGBUS || status == 1000 + SIGILL ||
	       status == 1000 + SIGTRAP || status == 1000 + SIGFPE;
}

/* Code of a case, in a page of its own, and what follows it: exit(0), without any segment but cs. */
static const uint8_t ends[] = { 0xbb, 0, 0, 0, 0, 0xb8, SYS_exit, 0, 0, 0, 0xcd, 0x80 };
static uint8_t *page;

static void page_make(void)
{
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
}

static void put(const void *code, size_t size)
{
	memcpy(page, code, size);
	memcpy(page + size, ends, sizeof(ends));
}

/* Registers point into memory that may be changed, esp too. */
static int run_page(void *unused)
{
	static uint32_t room[1024];

	(void)unused;
	__asm__ volatile("jmp *%%eax"
			 : : "a"(page), "b"(&room[512]), "c"(4), "d"(0x3f8), "S"(&room[256]), "D"(&room[512]));
	return 9;
}

static int run(const void *code, size_t size)
{
	put(code, size);
	return test_in_child(run_page, NULL);
}

/* Every gate but those for programs is the kernel's. */
static void interrupts_of_every_number(void)
{
	page_make();
	for (unsigned n = 0; n < 256; n++) {
		const uint8_t code[] = { 0xcd, (uint8_t)n };

		if (n == 0x80)
			continue;
		CHECK_EQUAL(run(code, sizeof(code)), 1000 + (n == 3 ? SIGTRAP : SIGSEGV));
	}
}

static void instructions_of_the_kernel(void)
{
	/* A length, and the code. */
	static const uint8_t codes[][8] = {
		{ 1, 0xfa }, { 1, 0xfb }, { 1, 0xf4 },                          /* cli sti hlt */
		{ 1, 0xec }, { 1, 0xed }, { 1, 0xee }, { 1, 0xef },             /* in out by dx */
		{ 2, 0xe4, 0x60 }, { 2, 0xe5, 0xf4 }, { 2, 0xe6, 0x64 }, { 2, 0xe7, 0xf4 },
		{ 1, 0x6c }, { 1, 0x6d }, { 1, 0x6e }, { 1, 0x6f },             /* ins outs */
		{ 2, 0xf3, 0x6c }, { 2, 0xf3, 0x6f },                           /* rep */
		{ 2, 0x0f, 0x06 }, { 2, 0x0f, 0x08 }, { 2, 0x0f, 0x09 },        /* clts invd wbinvd */
		{ 3, 0x0f, 0x01, 0x13 }, { 3, 0x0f, 0x01, 0x1b },               /* lgdt lidt */
		{ 3, 0x0f, 0x00, 0xd0 }, { 3, 0x0f, 0x00, 0xd8 },               /* lldt ltr */
		{ 3, 0x0f, 0x01, 0xf0 }, { 3, 0x0f, 0x01, 0x3b },               /* lmsw invlpg */
		{ 3, 0x0f, 0x20, 0xc0 }, { 3, 0x0f, 0x20, 0xd0 }, { 3, 0x0f, 0x20, 0xd8 },      /* mov from cr0.. */
		{ 3, 0x0f, 0x22, 0xc0 }, { 3, 0x0f, 0x22, 0xd8 },               /* mov to cr0 cr3 */
		{ 3, 0x0f, 0x21, 0xc0 }, { 3, 0x0f, 0x23, 0xf8 },               /* mov from dr0, to dr7 */
	};
	/* Those that some of the processors lack. */
	static const uint8_t others[][8] = {
		{ 3, 0x0f, 0x20, 0xe0 }, { 3, 0x0f, 0x22, 0xe0 },               /* mov from and to cr4 */
		{ 2, 0x0f, 0x30 }, { 2, 0x0f, 0x32 }, { 2, 0x0f, 0x33 },        /* wrmsr rdmsr rdpmc */
		{ 2, 0x0f, 0xaa }, { 2, 0x0f, 0x34 }, { 2, 0x0f, 0x05 },        /* rsm sysenter syscall */
		{ 3, 0x0f, 0x20, 0xc8 }, { 3, 0x0f, 0x22, 0xf8 },               /* mov from cr1, to cr7 */
		{ 2, 0xf0, 0x90 }, { 2, 0x0f, 0x0b }, { 2, 0x0f, 0xff },        /* lock nop, ud2, ud0 */
		{ 3, 0xf0, 0x0f, 0xc7 }, { 5, 0xf0, 0x0f, 0xc7, 0xc8, 0x90 },   /* cmpxchg8b of a register, locked */
		{ 1, 0xf1 }, { 2, 0x62, 0x03 }, { 3, 0x0f, 0xae, 0x03 },        /* int1 bound fxsave */
		{ 3, 0x0f, 0xae, 0x0b },                                        /* fxrstor */
	};

	page_make();
	for (unsigned i = 0; i < COUNT(codes); i++)
		CHECK_EQUAL(run(codes[i] + 1, codes[i][0]), 1000 + SIGSEGV);
	for (unsigned i = 0; i < COUNT(others); i++) {
		int status = run(others[i] + 1, others[i][0]);

		CHECK(status == 0 || is_fault(status));
	}
	memset(page, 0x2e, 15);         /* an instruction of 16 bytes */
	put(memset(page + 64, 0x2e, 15), 15);
	CHECK_EQUAL(test_in_child(run_page, NULL), 1000 + SIGSEGV);
	put("\x0f\x01\x03\x8b\x43\x02\x8b\x00", 8);     /* sgdt; the base; load from there */
	CHECK_EQUAL(test_in_child(run_page, NULL), 1000 + SIGSEGV);
	put("\x0f\x01\x0b\x8b\x43\x02\x89\x00", 8);     /* sidt; the base; store there */
	CHECK_EQUAL(test_in_child(run_page, NULL), 1000 + SIGSEGV);
}

static void put_far(uint32_t offset, uint32_t selector, unsigned form, uint32_t flags)
{
	uint8_t code[32];
	size_t n = 0;

	if (form < 2) {
		code[n++] = form ? 0x9a : 0xea;         /* call, jump */
		memcpy(code + n, &offset, 4);
		memcpy(code + n + 4, &selector, 2);
		n += 6;
	} else {
		if (form > 2) {
			code[n++] = 0x68;               /* push */
			memcpy(code + n, &flags, 4);
			n += 4;
		}
		code[n++] = 0x68;
		memcpy(code + n, &selector, 4);
		code[n + 4] = 0x68;
		memcpy(code + n + 5, &offset, 4);
		n += 9;
		code[n++] = form == 2 ? 0xcb : 0xcf;    /* return, return of interrupts */
	}
	put(code, n);
}

/* To every selector that there may be, gates and the kernel's code included: only this program's own code runs on. */
static void far_jumps_calls_and_returns(void)
{
	static const uint32_t flags[] = { 0x202, ~0u & ~STEP, NESTED | 2, VIRTUAL_86 | 2, LEVEL | 2 };
	uint32_t own = code_selector() & ~3u;

	page_make();
	for (uint32_t selector = 0; selector < 0x88; selector++) {
		for (unsigned form = 0; form < 4; form++) {
			int status;

			put_far((uint32_t)(page + 64), selector, form, 0x202);
			memcpy(page + 64, ends, sizeof(ends));
			status = test_in_child(run_page, NULL);
			CHECK(status == 1000 + SIGSEGV || status == 1000 + SIGBUS ||
			      (status == 0 && (selector & ~3u) == own));
		}
	}
	for (unsigned i = 0; i < COUNT(flags); i++) {
		int status;

		put_far((uint32_t)(page + 64), own | 3, 3, flags[i]);
		memcpy(page + 64, ends, sizeof(ends));
		status = test_in_child(run_page, NULL);
		CHECK(status == 0 || is_fault(status));
	}
	for (unsigned form = 0; form < 4; form++) {
		static const uint32_t places[] = { KERNEL, KERNEL + 0x100000, 0xfffffffe, 0xffffffff };

		for (unsigned i = 0; i < COUNT(places); i++) {
			put_far(places[i], own | 3, form, 0x202);
			CHECK_EQUAL(test_in_child(run_page, NULL), 1000 + SIGSEGV);
		}
	}
}

/* Flags as a program can set them, over a call of the system. */
static uint32_t flags_over_call(uint32_t flags, long call)
{
	uint32_t got, kept;

	__asm__ volatile("pushfl; popl %1; pushl %3; popfl; int $0x80; pushfl; popl %0; pushl %1; popfl"
			 : "=&r"(got), "=&r"(kept), "+a"(call)
			 : "r"(flags)
			 : "memory", "cc");
	return got;
}

static volatile uint32_t seen_flags, seen_signals;

static void sees_flags(int number)
{
	uint32_t flags;

	(void)number;
	__asm__ volatile("pushfl; popl %0" : "=r"(flags));
	seen_flags = flags;
	seen_signals++;
}

static int keeps_to_its_flags(void *unused)
{
	uint32_t flags;

	(void)unused;
	for (int i = 0; i < 20; i++) {
		__asm__ volatile("pushfl; popl %0" : "=r"(flags));
		CHECK_EQUAL(flags & (NESTED | ALIGNED | DOWN | LEVEL), 0);
		sched_yield();
	}
	return 0;
}

static void flags_of_every_kind(void)
{
	static const uint32_t sets[] = { 0, NESTED, ALIGNED, DOWN, NESTED | ALIGNED | DOWN, ~0u & ~STEP };
	pid_t self = getpid(), other = test_child(keeps_to_its_flags, NULL);

	signal(SIGUSR1, sees_flags);
	for (unsigned i = 0; i < COUNT(sets); i++) {
		uint32_t got = flags_over_call(sets[i], SYS_getppid), kept;

		CHECK_EQUAL(got & (INTERRUPTS | LEVEL | VIRTUAL_86), INTERRUPTS);
		CHECK_EQUAL(got & (NESTED | DOWN), sets[i] & (NESTED | DOWN));
		got = flags_over_call(sets[i], SYS_sched_yield);
		CHECK_EQUAL(got & (INTERRUPTS | LEVEL | VIRTUAL_86), INTERRUPTS);
		CHECK_EQUAL(got & (NESTED | DOWN), sets[i] & (NESTED | DOWN));
		/* A handler begins without DF. */
		__asm__ volatile("pushfl; popl %0; pushl %4; popfl; int $0x80; pushl %0; popfl"
				 : "=&r"(kept)
				 : "a"(SYS_kill), "b"(self), "c"(SIGUSR1), "r"(sets[i] & ~ALIGNED)
				 : "memory", "cc");
		CHECK_EQUAL(seen_signals, i + 1);
		CHECK_EQUAL(seen_flags & (DOWN | LEVEL | INTERRUPTS), INTERRUPTS);
	}
	CHECK_EQUAL(test_wait(other), 0);
}

static volatile uint32_t steps;

static void counts_steps(int number)
{
	(void)number;
	steps++;
}

/* Single steps over calls, and over loads of the stack's segment: traps come in the program, never in the kernel. */
static void single_steps_into_the_kernel(void)
{
	uint32_t ss = data_selector();

	signal(SIGTRAP, counts_steps);
	__asm__ volatile("pushfl; orl $0x100, (%%esp); popfl; nop; movl $20, %%eax; int $0x80; nop;"
			 "pushfl; andl $~0x100, (%%esp); popfl" : : : "eax", "memory", "cc");
	CHECK(steps >= 6);
	steps = 0;
	__asm__ volatile("pushfl; orl $0x100, (%%esp); popfl; movl $20, %%eax; movl %0, %%ss; int $0x80; nop;"
			 "pushl %0; movl $20, %%eax; popl %%ss; int $0x80; movl %0, %%ss; int3; pushl %0; popl %%ss; int3;"
			 "pushfl; andl $~0x100, (%%esp); popfl" : : "r"(ss) : "eax", "memory", "cc");
	CHECK(steps >= 8);
}

/* Runs with every selector that the program can load in each register: into the kernel by a call, faults, a timer. */
#define ODD_REGISTERS(one) one(ds) one(es) one(fs) one(gs) one(ss)
enum { BY_CALL, BY_YIELD, BY_PAGE, BY_INVALID, BY_TIME, BY_SIGNAL, WAYS };

static volatile uint32_t *fresh;

static void steps_over_invalid(int number, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	(void)number;
	(void)info;
	user->uc_mcontext.gregs[REG_EIP] += 2;
}

/* The program's flat segment comes back before C goes on. ebp is not used: it would mean ss. */
#define THROUGH(register, code) \
	__asm__ volatile("movl %%" #register ", %%edi; movl %%edx, %%" #register "\n\t" code "\n\t" \
			 "movl %%" #register ", %%edx; movl %%edi, %%" #register \
			 : "+a"(a), "+b"(b), "+c"(c), "+d"(got) : : "edi", "memory", "cc")
#define ENTER(register) \
	static uint32_t enter_with_##register(uint32_t selector, unsigned way) \
	{ \
		uint32_t a = SYS_getppid, b = 0, c = 0, got = selector; \
\
		switch (way) { \
		case BY_CALL: \
			THROUGH(register, "int $0x80"); \
			break; \
		case BY_YIELD: \
			a = SYS_sched_yield; \
			THROUGH(register, "int $0x80"); \
			break; \
		case BY_PAGE: \
			b = (uint32_t)(uintptr_t)fresh; \
			THROUGH(register, "movl %%cs:(%%ebx), %%eax"); \
			break; \
		case BY_INVALID: \
			THROUGH(register, "ud2"); \
			break; \
		case BY_TIME: \
			c = 1000000; \
			THROUGH(register, "1: loop 1b"); \
			break; \
		default: \
			a = SYS_kill; \
			b = (uint32_t)getpid(); \
			c = SIGUSR1; \
			THROUGH(register, "int $0x80"); \
		} \
		return got; \
	}
ODD_REGISTERS(ENTER)

static uint32_t (*const enters[])(uint32_t selector, unsigned way) = {
	enter_with_ds, enter_with_es, enter_with_fs, enter_with_gs, enter_with_ss,
};

struct entry {
	unsigned with, way;
	uint32_t selector;              /* 0: of a segment of these */
	uint32_t base, limit, flags;
};

static int enter_once(void *argument)
{
	struct entry *entry = argument;
	struct sigaction action = { .sa_sigaction = steps_over_invalid, .sa_flags = SA_SIGINFO };

	MUST(sigaction(SIGILL, &action, NULL));
	signal(SIGUSR1, sees_flags);
	if (entry->flags)
		entry->selector = make_segment(entry->base, entry->limit, entry->flags);
	/* Of a selector of no segment, the lowest bits may go. */
	return (enters[entry->with](entry->selector, entry->way) ^ entry->selector) & (entry->selector > 3 ? ~0u : ~3u);
}

static void selectors_of_every_kind(void)
{
	uint32_t flat = data_selector();
	struct entry all[] = {
		/* Flat, down from the end, bytes, one page that may not be written, at the kernel. */
		{ .limit = 0xfffff, .flags = 0x51 }, { .flags = 0x53 }, { .limit = 7, .flags = 0x41 },
		{ .base = (uint32_t)(uintptr_t)&seen_flags, .flags = 0x59 },
		{ .base = KERNEL, .limit = 0xfffff, .flags = 0x51 },
		{ .selector = 0 }, { .selector = 3 }, { .selector = flat }, { .selector = code_selector() },
		{ .selector = 0x08 }, { .selector = 0x10 }, { .selector = 0x28 }, { .selector = 0x07 },
		{ .selector = 0xffff },
	};

	fresh = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (unsigned i = 0; i < COUNT(all); i++) {
		struct entry *entry = &all[i];

		for (entry->with = 0; entry->with < COUNT(enters); entry->with++) {
			for (entry->way = 0; entry->way < WAYS; entry->way++) {
				int status = test_in_child(enter_once, entry);

				CHECK(status == 0 || status == 1000 + SIGSEGV || status == 1000 + SIGBUS);
				/* A flat segment is as good as the program's, and no register needs to hold one. */
				if (i == 0 || entry->selector == flat ||
				    (entry->with < 4 && !entry->flags && entry->selector < 4))
					CHECK_EQUAL(status, 0);
			}
		}
	}
}

static uint32_t odd_stack;

static int calls_on_odd_stack(void *unused)
{
	long result = SYS_getppid;

	(void)unused;
	__asm__ volatile("movl %%esp, %%edi; movl %%edx, %%esp; int $0x80; movl %%edi, %%esp"
			 : "+a"(result) : "d"(odd_stack) : "edi", "memory");
	CHECK_EQUAL(result, getppid());
	return 0;
}

static int pushes_on_odd_stack(void *unused)
{
	(void)unused;
	__asm__ volatile("movl %%edx, %%esp; pushl %%eax" : : "d"(odd_stack) : "memory");
	return 0;
}

/* A handler on such a stack has no frame. */
static int is_signalled_on_odd_stack(void *unused)
{
	(void)unused;
	signal(SIGUSR1, sees_flags);
	__asm__ volatile("movl %%edx, %%esp; int $0x80"
			 : : "d"(odd_stack), "a"(SYS_kill), "b"(getpid()), "c"(SIGUSR1) : "memory");
	return 0;
}

static long odd_return;

static int returns_from_odd_stack(void *unused)
{
	(void)unused;
	__asm__ volatile("movl %%edx, %%esp; int $0x80" : : "d"(odd_stack), "a"(odd_return) : "memory");
	return 0;
}

static void stacks_of_every_kind(void)
{
	static const uint32_t stacks[] = { 0, 1, 4, 8, 0x100, KERNEL - 4, KERNEL, KERNEL + 4, KERNEL + 0x100000,
					   0xffbffffc, 0xfffffff0, 0xfffffffc, 0xffffffff };

	for (unsigned i = 0; i < COUNT(stacks); i++) {
		odd_stack = stacks[i];
		CHECK_EQUAL(test_in_child(calls_on_odd_stack, NULL), 0);
		if (stacks[i] != KERNEL - 4 && stacks[i] != KERNEL) {
			CHECK(is_fault(test_in_child(pushes_on_odd_stack, NULL)));
			CHECK_EQUAL(test_in_child(is_signalled_on_odd_stack, NULL), 1000 + SIGSEGV);
		}
		for (unsigned k = 0; k < 2; k++) {
			odd_return = k ? SYS_sigreturn : SYS_rt_sigreturn;
			CHECK(is_fault(test_in_child(returns_from_odd_stack, NULL)));
		}
	}
}

/* Returns from a frame that is words by chance. */
static int returns_by_chance(void *unused)
{
	static uint32_t frame[256];

	(void)unused;
	for (unsigned i = 0; i < COUNT(frame); i++)
		frame[i] = odd_word();
	if (chance() % 2)
		frame[44] = frame[18] = (uint32_t)frame;        /* where registers and x87 may be */
	__asm__ volatile("movl %%edx, %%esp; int $0x80"
			 : : "d"(&frame[8]), "a"(chance() % 2 ? SYS_sigreturn : SYS_rt_sigreturn) : "memory");
	return 0;
}

/* Spoils some of the registers in a true frame. */
static void spoils(int number, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	(void)number;
	(void)info;
	for (unsigned n = 1 + chance() % 4; n; n--) {
		unsigned at = chance() % 21;

		if (at < 19)
			user->uc_mcontext.gregs[at] = (int)odd_word();
		else if (at == 19)
			user->uc_mcontext.fpregs = (void *)odd_word();
		else
			((uint32_t *)user->uc_mcontext.fpregs)[chance() % 27] = odd_word();
	}
}

static int returns_with_spoiled(void *unused)
{
	struct sigaction action = { .sa_sigaction = spoils, .sa_flags = SA_SIGINFO };

	(void)unused;
	MUST(sigaction(SIGUSR1, &action, NULL));
	alarm(2);
	raise(SIGUSR1);
	__asm__ volatile("fld1; fadd %%st, %%st; fstp %%st" : : : "st");
	sched_yield();
	return 0;
}

static void forged_frames(void)
{
	for (unsigned i = 0; i < 300; i++) {
		state = i * 2654435761u;
		test_in_child(i % 2 ? returns_by_chance : returns_with_spoiled, NULL);
	}
}

/* Descriptors of every kind: what the kernel takes gives no way to its memory. */
static int reads_by_segment(void *selector)
{
	uint32_t word;

	__asm__ volatile("movl %1, %%gs; movl %%gs:(%2), %0" : "=r"(word) : "r"(selector), "r"(0) : "memory");
	return 0;
}

static int calls_by_segment(void *selector)
{
	uint32_t far[2] = { 0, (uint32_t)(uintptr_t)selector };

	__asm__ volatile("lcall *%0" : : "m"(far[0]) : "memory");
	return 0;
}

/* The same of the program's own table, which takes segments of 16 bits, absent ones, and code too. */
static void own_descriptors_of_every_kind(void)
{
	static const uint32_t bases[] = { 0, KERNEL, KERNEL + 0x100000, 0xfffff000, 0xffffffff };
	static const uint32_t limits[] = { 3, 0xfffff };
	void *selector = (void *)(5 * 8 + 7);
	uint32_t taken = 0;

	for (uint32_t flags = 0; flags < 0x80; flags++) {
		for (unsigned i = 0; i < COUNT(bases) * COUNT(limits); i++) {
			struct segment s = { 5, bases[i / 2], limits[i % 2], flags };

			if (syscall(SYS_modify_ldt, i % 3 ? 1 : 0x11, &s, sizeof(s)) != 0)
				continue;
			taken++;
			if (i % 3 == 0) {
				CHECK(is_fault(test_in_child(reads_by_segment, selector)));
				CHECK(is_fault(test_in_child(calls_by_segment, selector)));
			}
		}
	}
	CHECK(taken > 0);
	CHECK(syscall(SYS_modify_ldt, 1, KERNEL, 16) == -1);
	CHECK(syscall(SYS_modify_ldt, 0, KERNEL, 0x10000) == -1);
	CHECK(syscall(SYS_modify_ldt, 2, KERNEL, 0x10000) == -1);
}

static void descriptors_of_every_kind(void)
{
	static const uint32_t bases[] = { KERNEL, KERNEL + 0x100000, 0xfffff000, 0xffffffff };
	static const uint32_t limits[] = { 0, 3, 0xfffff, ~0u };
	uint32_t taken = 0;

	for (uint32_t flags = 0; flags < 0x100; flags++) {
		for (unsigned i = 0; i < COUNT(bases) * COUNT(limits); i++) {
			struct segment s = { 7, bases[i / 4], limits[i % 4], flags };
			void *selector = (void *)(7 * 8 + 3);

			if (syscall(SYS_set_thread_area, &s) != 0)
				continue;
			taken++;
			/* Not code, not of 16 bits, and present. */
			CHECK(!(flags & 4) && flags & 1 && !(flags & 0x20));
			if (i % 5 == 0) {
				int status = test_in_child(reads_by_segment, selector);

				CHECK(status == 1000 + SIGSEGV || status == 1000 + SIGBUS);
				CHECK_EQUAL(test_in_child(calls_by_segment, selector), 1000 + SIGSEGV);
			}
		}
	}
	CHECK(taken > 0);
	for (uint32_t entry = 0; entry < 16; entry += 1 + (entry == 5)) {
		struct segment s = { entry, 0, 0xfffff, 0x51 };
		long result = syscall(SYS_set_thread_area, &s);

		CHECK(result == 0 || errno == EINVAL);
		CHECK(result == 0 ? entry >= 6 : entry < 6 || entry > 8);
	}
}

static volatile uint32_t reached;

static void steps_over_access(int number, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	(void)number;
	CHECK_EQUAL((uint32_t)(uintptr_t)info->si_addr, reached);
	user->uc_mcontext.gregs[REG_EIP] = user->uc_mcontext.gregs[REG_EDI];
}

/* Every 1 MB of the kernel's part, by a load, a store and a fetch. */
static void the_kernel_is_out_of_reach(void)
{
	struct sigaction action = { .sa_sigaction = steps_over_access, .sa_flags = SA_SIGINFO };
	uint32_t passed = 0;

	MUST(sigaction(SIGSEGV, &action, NULL));
	for (uint32_t at = KERNEL; at >= KERNEL; at += 0x100000) {
		reached = at;
		__asm__ volatile("movl $1f, %%edi; movl (%1), %%eax; incl %0; 1:" : "+m"(passed) : "r"(at)
				 : "eax", "edi", "memory");
		__asm__ volatile("movl $1f, %%edi; movl %%eax, (%1); incl %0; 1:" : "+m"(passed) : "r"(at)
				 : "eax", "edi", "memory");
		__asm__ volatile("movl $1f, %%edi; jmp *%0; 1:" : : "r"(at) : "eax", "edi", "memory");
	}
	CHECK_EQUAL(passed, 0);
	/* Calls that are given such addresses, at the end and around it. */
	for (uint32_t at = KERNEL - 8; at <= KERNEL + 8; at++) {
		struct segment *segment = (struct segment *)at;

		CHECK(syscall(SYS_get_thread_area, segment) == -1);
		CHECK(syscall(SYS_set_thread_area, segment) == -1);
		CHECK(syscall(SYS_futex, at & ~3u, 1, 1, 0, 0, 0) != 1);
	}
	CHECK_ERROR(syscall(SYS_write, 1, 0xfffffffc, 8), EFAULT);
	CHECK_ERROR(syscall(SYS_write, 1, KERNEL - 4, 0x7fffffff), EFAULT);
}

/* What old programs ask for, and get no. */
static void old_ways_into_the_machine(void)
{
	CHECK(syscall(SYS_iopl, 3) == -1);
	CHECK(syscall(SYS_ioperm, 0, 1024, 1) == -1);
	CHECK(syscall(SYS_vm86, 1, KERNEL) == -1);
	CHECK(syscall(SYS_vm86old, KERNEL) == -1);
}

static const struct test_case cases[] = {
	CASE(interrupts_of_every_number), CASE(instructions_of_the_kernel),
	CASE(far_jumps_calls_and_returns), CASE(flags_of_every_kind), CASE(single_steps_into_the_kernel),
	CASE(selectors_of_every_kind), CASE(stacks_of_every_kind), CASE(forged_frames),
	CASE(descriptors_of_every_kind), CASE(own_descriptors_of_every_kind), CASE(the_kernel_is_out_of_reach),
	CASE(old_ways_into_the_machine),
};

ATTACK_MAIN("i386", cases)
