/* The groups of calls on memory. */
#define _GNU_SOURCE
#include "calltable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define USER 1000
/* The call with user numbers of 32 bits. */
#ifdef SYS_setresuid32
#define SETRESUID SYS_setresuid32
#else
#define SETRESUID SYS_setresuid
#endif

/* Calls are made directly: the C library checks some arguments itself. */
static long call(long number, long a, long b, long c, long d, long e, long f)
{
	return syscall(number, a, b, c, d, e, f);
}

/* An address of a page of A, seldom one that is not aligned, or is no program's. */
static char *some_address(void)
{
	char *at = ARENA + pick(ARENA_PAGES) * PAGE;

	switch (pick(40)) {
	case 0:
		return at + 1 + pick(PAGE - 1);
	case 1:
		return ARENA + (ARENA_PAGES + pick(4)) * PAGE;
	case 2:
		return NULL;
	default:
		return at;
	}
}

/* A size in bytes: pages, seldom part of one, 0, or more than memory has. */
static size_t some_size(void)
{
	size_t size = (1 + pick(ARENA_PAGES / 2)) * PAGE;

	switch (pick(32)) {
	case 0:
		return 0;
	case 1:
		return size - pick(PAGE);
	case 2:
		return (size_t)ONE_OF(-1, -4096, -8192, -0x50000000, 0x7fffffff, -0x40000000);
	case 3:
		return ARENA_PAGES * PAGE;
	default:
		return size;
	}
}

static void say_size(size_t size)
{
	if (size > 1000 * PAGE)
		say(",%#lx", (unsigned long)size);
	else if (size % PAGE)
		say(",%lub", (unsigned long)size);
	else
		say(",%lu", (unsigned long)(size / PAGE));
}

/* What came of a call that returns an address; what it has put elsewhere is told, too. */
static void say_placed(long result, size_t size)
{
	char *at = (char *)result;

	say("=");
	if (result == -1) {
		say_result(result);
		return;
	}
	say_address(at);
	if ((uintptr_t)at - (uintptr_t)ARENA < 2 * ARENA_PAGES * PAGE ||
	    (uintptr_t)at - (uintptr_t)TARGET < 2 * ARENA_PAGES * PAGE)
		return;
	arena_tell_range("N", at, (unsigned)((size + PAGE - 1) / PAGE));
	arena_clear_also(at, size);
}

static void one_mremap(void)
{
	char *at = some_address(), *to = TARGET + pick(ARENA_PAGES) * PAGE;
	size_t old = some_size(), new = pick(3) ? some_size() : old;
	long flags = ONE_OF(0, 1, 1, 1, 3, 3, 3, 3, 5, 5, 7, 7, 2, 4, 6, 8, 9);
	long result;

	if (pick(8) == 0)
		to = some_address();
	/* Two such sizes could unmap the program. */
	if (old > 1000 * PAGE && new > 1000 * PAGE)
		new = 3 * PAGE;
	/* Where the kernel puts an area with a hint, it decides. */
	if (flags == 5)
		to = NULL;
	say("mremap(");
	say_address(at);
	say_size(old);
	say_size(new);
	say(",%ld,", flags);
	say_address(to);
	say(")");
	result = call(SYS_mremap, (long)at, (long)old, (long)new, flags, (long)to, 0);
	say_placed(result, new);
}

static void one_mprotect(void)
{
	char *at = some_address();
	size_t size = some_size();
	long rights = ONE_OF(0, 1, 3, 5, 7, 1, 3, 2, 4, 8, 0x100, 0x01000001, 0x01000003, 0x02000001, 0x03000001, 0x10);

	say("mprotect(");
	say_address(at);
	say_size(size);
	say(",%#lx)=", rights);
	say_result(call(SYS_mprotect, (long)at, (long)size, rights, 0, 0, 0));
}

static void one_munmap(void)
{
	char *at = some_address();
	size_t size = some_size();

	/* A size near the end of memory would take the program with it. */
	if (size > 1000 * PAGE && !((uintptr_t)at % PAGE))
		size = 0;
	say("munmap(");
	say_address(at);
	say_size(size);
	say(")=");
	say_result(call(SYS_munmap, (long)at, (long)size, 0, 0, 0, 0));
}

static void tell_child(void)
{
	arena_start_child();
	arena_tell_range("child", ARENA, ARENA_PAGES);
}

static void one_madvise(void)
{
	char *at = some_address();
	size_t size = some_size();
	long advice = ONE_OF(0, 1, 2, 3, 4, 4, 4, 8, 9, 9, 10, 11, 16, 17, 18, 19, 20, 21, 22, 22, 23, 23, 24, 24, 5,
			     6, 7, 26, 99);

	/* What drops pages, or keeps them from a child, goes on beyond holes, and would take the program's stack. */
	if (size > 1000 * PAGE && (uintptr_t)at < (uintptr_t)at + size &&
	    (advice == 4 || advice == 8 || advice == 10 || advice == 18 || advice == 24))
		size = 3 * PAGE;
	say("madvise(");
	say_address(at);
	say_size(size);
	say(",%ld)=", advice);
	say_result(call(SYS_madvise, (long)at, (long)size, advice, 0, 0, 0));
	if (advice == 10 || advice == 11 || advice == 18 || advice == 19)
		say_in_child(tell_child);
}

static void one_msync(void)
{
	char *at = some_address();
	size_t size = some_size();
	long flags = (long)pick(9);

	say("msync(");
	say_address(at);
	say_size(size);
	say(",%ld)=", flags);
	say_result(call(SYS_msync, (long)at, (long)size, flags, 0, 0, 0));
}

static void one_mincore(void)
{
	unsigned char pages[2 * ARENA_PAGES];
	char *at = some_address();
	size_t size = some_size();
	long to = pick(8) ? (long)pages : 16;

	if (size > sizeof(pages) * PAGE)
		size = ARENA_PAGES * PAGE;
	say("mincore(");
	say_address(at);
	say_size(size);
	say("%s)=", to == 16 ? ",bad" : "");
	say_result(call(SYS_mincore, (long)at, (long)size, to, 0, 0, 0));
}

static void one_mlock(void)
{
	char *at = some_address();
	size_t size = some_size();
	long flags = ONE_OF(0, 1, 1, 2);

	switch (pick(4)) {
	case 0:
		say("mlock(");
		say_address(at);
		say_size(size);
		say(")=");
		say_result(call(SYS_mlock, (long)at, (long)size, 0, 0, 0, 0));
		break;
	case 1:
		say("mlock2(");
		say_address(at);
		say_size(size);
		say(",%ld)=", flags);
		say_result(call(SYS_mlock2, (long)at, (long)size, flags, 0, 0, 0));
		break;
	default:
		say("munlock(");
		say_address(at);
		say_size(size);
		say(")=");
		say_result(call(SYS_munlock, (long)at, (long)size, 0, 0, 0, 0));
	}
	say(" %u", locked_pages());
}

#ifdef SYS_mmap2
#define MMAP SYS_mmap2
#else
#define MMAP SYS_mmap
#endif

static void one_mmap(void)
{
	char *at = pick(4) ? TARGET + pick(ARENA_PAGES) * PAGE : some_address();
	size_t size = some_size();
	long flags = ONE_OF(0x22, 0x21, 0x12 | 0x20, 0x12 | 0x20, 0x12 | 0x20, 0x11 | 0x20, 0x100022, 0x100022,
			    0x100032, 0x20, 0x23, 0x30, 0x11 | 0x20 | 0x100, 0x12, 0x100023, 0x2000000 | 0x23, 0x02);
	long rights = ONE_OF(0, 1, 3, 3, 5, 7);

	/* Where the kernel puts an area with a hint, it decides. */
	if (!(flags & 0x100010))
		at = NULL;
	if (size > 1000 * PAGE && !((uintptr_t)at % PAGE))
		size = PAGE;
	say("mmap(");
	say_address(at);
	say_size(size);
	say(",%ld,%#lx)", rights, flags);
	say_placed(call(MMAP, (long)at, (long)size, rights, flags, -1, 0), size);
}

static void laid_out(void (*one)(void))
{
	arena_lay_out();
	one();
	arena_tell();
	arena_clear();
}

void case_mremap(void)
{
	laid_out(one_mremap);
}

void case_mprotect(void)
{
	laid_out(one_mprotect);
}

void case_madvise(void)
{
	laid_out(one_madvise);
}

void case_msync(void)
{
	laid_out(pick(3) ? one_msync : one_mincore);
}

void case_mmap(void)
{
	laid_out(pick(3) ? one_mmap : one_munmap);
}

/* Some cases run as a user who may lock few pages. */
void case_mlock(void)
{
	struct rlimit before, few;
	int by_user = pick(3) == 0;

	arena_lay_out();
	must(getrlimit(RLIMIT_MEMLOCK, &before), "getrlimit");
	few = before;
	few.rlim_cur = pick(6) * PAGE;
	if (by_user) {
		say("limit %u: ", (unsigned)(few.rlim_cur / PAGE));
		must(setrlimit(RLIMIT_MEMLOCK, &few), "setrlimit");
		must(syscall(SETRESUID, -1, USER, -1), "setresuid");
	}
	for (unsigned i = 1 + pick(3); i; i--) {
		one_mlock();
		say(" ");
	}
	if (pick(4) == 0) {
		one_mremap();
		say(" %u", locked_pages());
	}
	if (by_user) {
		must(syscall(SETRESUID, -1, 0, -1), "setresuid");
		must(setrlimit(RLIMIT_MEMLOCK, &before), "setrlimit");
	}
	arena_tell();
	arena_clear();
	must(munlockall(), "munlockall");
}

void case_mixed(void)
{
	static void (*const some[])(void) = {
		one_mremap, one_mremap, one_mprotect, one_munmap, one_madvise, one_msync, one_mlock,
	};
	static const char *const separators[] = { "", "; " };

	arena_lay_out();
	for (unsigned i = 0; i < 4; i++) {
		say("%s", separators[i > 0]);
		some[pick(sizeof(some) / sizeof(some[0]))]();
	}
	arena_tell();
	arena_clear();
	must(munlockall(), "munlockall");
}
