/*
 * The oldest calls with user and group numbers, of 16 bits. C libraries make the calls with 32 bits. The reference runs
 * in a name space with one user, so this is tested on the kernel only.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/check.h"

enum { NONE = 0xffff, OVERFLOW = 65534, WIDE = 0x12345 };

static uint16_t ids[3];

static void users(void)
{
	uid_t real, effective, saved;

	MUST(syscall(SYS_setresuid, 2001, 2002, 2003));
	MUST(getresuid(&real, &effective, &saved));
	CHECK(real == 2001 && effective == 2002 && saved == 2003);
	CHECK_EQUAL(syscall(SYS_getuid), 2001);
	CHECK_EQUAL(syscall(SYS_geteuid), 2002);
	MUST(syscall(SYS_setresuid, NONE, 2003, NONE));
	MUST(syscall(SYS_getresuid, &ids[0], &ids[1], &ids[2]));
	CHECK(ids[0] == 2001 && ids[1] == 2003 && ids[2] == 2003);
	CHECK_ERROR(syscall(SYS_setreuid, 5, NONE), EPERM);
	CHECK_ERROR(syscall(SYS_getresuid, &ids[0], &ids[1], 16), EFAULT);
}

static void groups(void)
{
	MUST(syscall(SYS_setresgid, 2001, 2002, 2003));
	MUST(syscall(SYS_setregid, NONE, 2003));
	MUST(syscall(SYS_getresgid, &ids[0], &ids[1], &ids[2]));
	CHECK(ids[0] == 2001 && ids[1] == 2003 && ids[2] == 2003);
	CHECK_EQUAL(syscall(SYS_getgid), 2001);
	CHECK_EQUAL(syscall(SYS_getegid), 2003);
	MUST(syscall(SYS_setgid, 7));
	CHECK_EQUAL(getgid(), 7);
	MUST(syscall(SYS_setuid, 8));
	CHECK_EQUAL(getuid(), 8);
	CHECK_ERROR(syscall(SYS_setgid, 9), EPERM);
}

/* A number that does not fit is shown as another one. */
static void wide_numbers(void)
{
	MUST(setresgid(WIDE, WIDE, WIDE));
	MUST(setresuid(WIDE, WIDE, WIDE));
	CHECK_EQUAL(syscall(SYS_getuid), OVERFLOW);
	CHECK_EQUAL(syscall(SYS_getegid), OVERFLOW);
	MUST(syscall(SYS_getresuid, &ids[0], &ids[1], &ids[2]));
	CHECK(ids[0] == OVERFLOW && ids[1] == OVERFLOW && ids[2] == OVERFLOW);
}

static void group_lists(void)
{
	static const uint16_t list[3] = { 5, NONE - 1, 7 };
	static const gid_t wide_list[2] = { WIDE, 6 };
	gid_t back[3] = { 0 };

	MUST(syscall(SYS_setgroups, 3, list));
	CHECK_EQUAL(getgroups(3, back), 3);
	CHECK(back[0] == 5 && back[1] == 7 && back[2] == NONE - 1);
	CHECK_EQUAL(syscall(SYS_getgroups, 0, NULL), 3);
	CHECK_ERROR(syscall(SYS_getgroups, 2, ids), EINVAL);
	MUST(setgroups(2, wide_list));
	CHECK_EQUAL(syscall(SYS_getgroups, 3, ids), 2);
	CHECK(ids[0] == 6 && ids[1] == OVERFLOW);
	CHECK_ERROR(syscall(SYS_setgroups, 3, 16), EFAULT);
	MUST(syscall(SYS_setgroups, 0, NULL));
}

static void owners(void)
{
	const char *path = test_path("owned"), *link = test_path("owner");
	int fd = (int)MUST(open(path, O_CREAT | O_RDWR, 0600));
	struct stat status;

	MUST(symlink(path, link));
	MUST(syscall(SYS_chown, link, 11, 12));
	MUST(syscall(SYS_lchown, link, 13, 14));
	MUST(stat(path, &status));
	CHECK(status.st_uid == 11 && status.st_gid == 12);
	MUST(lstat(link, &status));
	CHECK(status.st_uid == 13 && status.st_gid == 14);
	MUST(syscall(SYS_fchown, fd, NONE, 15));
	MUST(fstat(fd, &status));
	CHECK(status.st_uid == 11 && status.st_gid == 15);
	CHECK_ERROR(syscall(SYS_fchown, -1, 1, 1), EBADF);
}

static void file_numbers(void)
{
	CHECK_EQUAL(syscall(SYS_setfsuid, 21), 0);
	CHECK_EQUAL(syscall(SYS_setfsuid, NONE), 21);
	CHECK_EQUAL(syscall(SYS_setfsuid, 0), 21);
	CHECK_EQUAL(syscall(SYS_setfsgid, 22), 0);
	CHECK_EQUAL(syscall(SYS_setfsgid, 0), 22);
}

static const struct test_case cases[] = {
	CASE(users), CASE(groups), CASE(wide_numbers), CASE(group_lists), CASE(owners), CASE(file_numbers),
};

TEST_MAIN("x86_ids", cases)
