/* Extended attributes of files in a file system in memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/check.h"

static const char *file(void)
{
	const char *path = test_path("file");

	test_write_file(path, "text", 4);
	return path;
}

static void values(void)
{
	const char *path = file();
	char value[16] = "";

	CHECK_ERROR(getxattr(path, "user.a", value, sizeof(value)), ENODATA);
	MUST(setxattr(path, "user.a", "one", 3, 0));
	CHECK_EQUAL(getxattr(path, "user.a", NULL, 0), 3);
	CHECK_EQUAL(getxattr(path, "user.a", value, sizeof(value)), 3);
	CHECK(memcmp(value, "one", 3) == 0);
	CHECK_ERROR(getxattr(path, "user.a", value, 2), ERANGE);
	MUST(setxattr(path, "user.a", "longer", 6, 0));
	CHECK_EQUAL(getxattr(path, "user.a", value, sizeof(value)), 6);
	MUST(setxattr(path, "user.empty", NULL, 0, 0));
	CHECK_EQUAL(getxattr(path, "user.empty", value, sizeof(value)), 0);
	MUST(removexattr(path, "user.a"));
	CHECK_ERROR(removexattr(path, "user.a"), ENODATA);
	CHECK_ERROR(getxattr(path, "user.a", value, sizeof(value)), ENODATA);
}

static void creation_and_replacement(void)
{
	const char *path = file();

	CHECK_ERROR(setxattr(path, "user.a", "x", 1, XATTR_REPLACE), ENODATA);
	MUST(setxattr(path, "user.a", "x", 1, XATTR_CREATE));
	CHECK_ERROR(setxattr(path, "user.a", "y", 1, XATTR_CREATE), EEXIST);
	MUST(setxattr(path, "user.a", "y", 1, XATTR_REPLACE));
	CHECK_ERROR(setxattr(path, "user.a", "y", 1, 4), EINVAL);
}

static void lists(void)
{
	const char *path = file();
	char names[64];
	int seen = 0;

	CHECK_EQUAL(listxattr(path, names, sizeof(names)), 0);
	MUST(setxattr(path, "user.one", "1", 1, 0));
	MUST(setxattr(path, "user.three", "3", 1, 0));
	CHECK_EQUAL(listxattr(path, NULL, 0), (long)(sizeof("user.one") + sizeof("user.three")));
	CHECK_ERROR(listxattr(path, names, 10), ERANGE);
	CHECK_EQUAL(listxattr(path, names, sizeof(names)), (long)(sizeof("user.one") + sizeof("user.three")));
	for (const char *at = names; at < names + sizeof("user.one") + sizeof("user.three"); at += strlen(at) + 1)
		seen |= strcmp(at, "user.one") == 0 ? 1 : strcmp(at, "user.three") == 0 ? 2 : 4;
	CHECK_EQUAL(seen, 3);
}

static void forms(void)
{
	const char *path = file(), *other = test_path("link");
	int fd = (int)MUST(open(path, O_RDONLY)), place = (int)MUST(open(path, O_PATH));
	char value[8];

	MUST(symlink(path, other));
	MUST(fsetxattr(fd, "user.a", "fd", 2, 0));
	CHECK_EQUAL(getxattr(other, "user.a", value, sizeof(value)), 2);
	CHECK_EQUAL(fgetxattr(fd, "user.a", value, sizeof(value)), 2);
	CHECK_EQUAL(lgetxattr(path, "user.a", value, sizeof(value)), 2);
	CHECK_EQUAL(flistxattr(fd, value, sizeof(value)), (long)sizeof("user.a"));
	CHECK_EQUAL(llistxattr(other, value, sizeof(value)), 0);
	/* A symbolic link cannot have user attributes. */
	CHECK_ERROR(lsetxattr(other, "user.a", "x", 1, 0), EPERM);
	CHECK_ERROR(lgetxattr(other, "user.a", value, sizeof(value)), ENODATA);
	CHECK_ERROR(lremovexattr(other, "user.a"), EPERM);
	CHECK_ERROR(fsetxattr(place, "user.a", "x", 1, 0), EBADF);
	CHECK_ERROR(fgetxattr(place, "user.a", value, sizeof(value)), EBADF);
	MUST(fremovexattr(fd, "user.a"));
	CHECK_EQUAL(flistxattr(fd, value, sizeof(value)), 0);
}

static void names(void)
{
	const char *path = file();
	void *volatile nowhere = (void *)1;
	char name[300], value[4];

	memset(name, 'x', sizeof(name));
	memcpy(name, "user.", 5);
	name[256] = '\0';
	CHECK_ERROR(setxattr(path, name, "x", 1, 0), ERANGE);
	name[255] = '\0';
	MUST(setxattr(path, name, "x", 1, 0));
	CHECK_EQUAL(getxattr(path, name, value, sizeof(value)), 1);
	CHECK_ERROR(setxattr(path, "", "x", 1, 0), ERANGE);
	CHECK_ERROR(setxattr(path, "user.", "x", 1, 0), EINVAL);
	CHECK_ERROR(setxattr(path, "other.a", "x", 1, 0), EOPNOTSUPP);
	CHECK_ERROR(getxattr(path, "a", value, sizeof(value)), EOPNOTSUPP);
	CHECK_ERROR(setxattr(path, nowhere, "x", 1, 0), EFAULT);
	CHECK_ERROR(setxattr(path, "user.b", nowhere, 1, 0), EFAULT);
	CHECK_ERROR(setxattr(path, "user.b", path, 65537, 0), E2BIG);
	CHECK_ERROR(setxattr(test_path("none"), "user.a", "x", 1, 0), ENOENT);
}

static void other_kinds(void)
{
	const char *directory = test_path("directory"), *fifo = test_path("fifo");
	char value[4];
	int ends[2];

	MUST(mkdir(directory, 0755));
	MUST(setxattr(directory, "user.a", "x", 1, 0));
	CHECK_EQUAL(getxattr(directory, "user.a", value, sizeof(value)), 1);
	MUST(mkfifo(fifo, 0644));
	CHECK_ERROR(setxattr(fifo, "user.a", "x", 1, 0), EPERM);
	CHECK_ERROR(getxattr(fifo, "user.a", value, sizeof(value)), ENODATA);
	CHECK_ERROR(getxattr("/proc/version", "user.a", value, sizeof(value)), EOPNOTSUPP);
	MUST(pipe(ends));
	CHECK_ERROR(fgetxattr(ends[0], "user.a", value, sizeof(value)), ENODATA);
}

/* Attributes belong to the file, not to its name. Setting one changes the file's time of change. */
static void belong_to_the_file(void)
{
	const char *path = file(), *other = test_path("other");
	int watcher = (int)MUST(inotify_init1(IN_NONBLOCK));
	struct inotify_event event;
	struct stat before, after;
	char value[4];

	MUST(inotify_add_watch(watcher, path, IN_ATTRIB));
	MUST(stat(path, &before));
	MUST(setxattr(path, "user.a", "x", 1, 0));
	CHECK_EQUAL(read(watcher, &event, sizeof(event)), sizeof(event));
	CHECK_EQUAL(event.mask, IN_ATTRIB);
	MUST(stat(path, &after));
	CHECK(after.st_ctim.tv_sec > before.st_ctim.tv_sec || after.st_ctim.tv_nsec >= before.st_ctim.tv_nsec);
	MUST(link(path, other));
	MUST(unlink(path));
	CHECK_EQUAL(getxattr(other, "user.a", value, sizeof(value)), 1);
}

static const struct test_case cases[] = {
	CASE(values), CASE(creation_and_replacement), CASE(lists), CASE(forms), CASE(names), CASE(other_kinds),
	CASE(belong_to_the_file),
};

TEST_MAIN("xattr", cases)
