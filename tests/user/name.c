/* Special cases of names: dots, slashes, links within a path, loops, *at flags, refused renames, removed
 * directories. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/check.h"

static void enter(void)
{
	char path[128];

	strcpy(path, test_path(""));
	MUST(chdir(path));
}

static void touch(const char *path)
{
	test_write_file(path, "x", 1);
}

static void dots_and_slashes(void)
{
	struct stat a, b;

	enter();
	MUST(mkdir("d", 0755));
	touch("d/f");
	MUST(stat("d//.///f", &a));
	MUST(stat("./d/../d/f", &b));
	CHECK_EQUAL(a.st_ino, b.st_ino);
	CHECK_ERROR(stat("d/f/", &a), ENOTDIR);
	CHECK_ERROR(stat("d/f/..", &a), ENOTDIR);
	CHECK_ERROR(stat("d/f/.", &a), ENOTDIR);
	MUST(stat("d/", &a));
	MUST(stat("/", &a));
	MUST(stat("///", &a));
	MUST(stat("/..", &b));
	CHECK_ERROR(stat("", &a), ENOENT);
	CHECK_ERROR(open("d", O_WRONLY), EISDIR);
	CHECK_ERROR(open("d/", O_CREAT | O_RDWR, 0600), EISDIR);
	CHECK_ERROR(open("new/", O_CREAT | O_RDWR, 0600), EISDIR);
	CHECK_ERROR(open("d/f/", O_RDONLY), ENOTDIR);
	CHECK_ERROR(mkdir("d/.", 0755), EEXIST);
	CHECK_ERROR(rmdir("d/."), EINVAL);
	CHECK_ERROR(rmdir("d/.."), ENOTEMPTY);
	CHECK_ERROR(unlink("d/.."), EISDIR);
	CHECK_ERROR(rmdir("/"), EBUSY);
	MUST(mkdir("e/", 0755));
	MUST(rmdir("e/"));
}

static void links_on_the_way(void)
{
	char text[64];
	struct stat st;
	int fd;

	enter();
	MUST(mkdir("d", 0755));
	touch("d/f");
	MUST(symlink("d", "to-d"));
	MUST(symlink("to-d/f", "to-f"));
	MUST(symlink("nowhere", "dangling"));
	MUST(stat("to-d/f", &st));
	MUST(stat("to-f", &st));
	CHECK(S_ISREG(st.st_mode));
	MUST(lstat("to-f", &st));
	CHECK(S_ISLNK(st.st_mode));
	CHECK_EQUAL(st.st_size, 6);
	MUST(lstat("to-d/", &st));
	CHECK(S_ISDIR(st.st_mode));
	CHECK_ERROR(open("dangling", O_RDONLY), ENOENT);
	CHECK_ERROR(open("dangling", O_CREAT | O_EXCL | O_RDWR, 0600), EEXIST);
	fd = (int)MUST(open("dangling", O_CREAT | O_RDWR, 0600)); /* creates the file that the link names */
	MUST(close(fd));
	MUST(lstat("nowhere", &st));
	CHECK_ERROR(open("to-f", O_RDONLY | O_NOFOLLOW), ELOOP);
	CHECK_ERROR(open("to-d", O_RDONLY | O_DIRECTORY | O_NOFOLLOW), ENOTDIR);
	CHECK_EQUAL(readlink("to-f", text, 3), 3);
	CHECK(memcmp(text, "to-", 3) == 0);
	CHECK_ERROR(readlink("d", text, sizeof(text)), EINVAL);
	CHECK_ERROR(mkdir("to-d", 0755), EEXIST);
	CHECK_ERROR(rmdir("to-d"), ENOTDIR);
	MUST(symlink("b", "a"));
	MUST(symlink("a", "b"));
	CHECK_ERROR(stat("a", &st), ELOOP);
	CHECK_ERROR(open("a/x", O_RDONLY), ELOOP);
	CHECK_ERROR(symlink("", "empty"), ENOENT);
	CHECK_ERROR(symlink("x", "a"), EEXIST);
	MUST(link("to-f", "to-f-too")); /* links the symbolic link itself, not its target */
	MUST(lstat("to-f-too", &st));
	CHECK(S_ISLNK(st.st_mode));
	CHECK_EQUAL(st.st_nlink, 2);
}

static void a_chain_of_links(void)
{
	char from[16], to[16];
	struct stat st;

	enter();
	touch("l0");
	for (int i = 1; i <= 41; i++) {
		snprintf(from, sizeof(from), "l%d", i);
		snprintf(to, sizeof(to), "l%d", i - 1);
		MUST(symlink(to, from));
	}
	MUST(stat("l40", &st));
	CHECK_ERROR(stat("l41", &st), ELOOP);
}

static void rename_refusals(void)
{
	struct stat before, after;

	enter();
	MUST(mkdir("d", 0755));
	MUST(mkdir("d/e", 0755));
	MUST(mkdir("full", 0755));
	touch("full/x");
	touch("f");
	CHECK_ERROR(rename("d", "d/e/new"), EINVAL);
	CHECK_ERROR(rename("d", "d/e"), EINVAL);
	CHECK_ERROR(rename("d/e", "d"), ENOTEMPTY);
	CHECK_ERROR(rename("f", "d"), EISDIR);
	CHECK_ERROR(rename("d", "f"), ENOTDIR);
	CHECK_ERROR(rename("d", "full"), ENOTEMPTY);
	CHECK_ERROR(rename("d/.", "g"), EBUSY);
	CHECK_ERROR(rename("f", "full/.."), EBUSY);
	CHECK_ERROR(rename("none", "f"), ENOENT);
	CHECK_ERROR(rename("f", "none/f"), ENOENT);
	CHECK_ERROR(rename("f", "g/"), ENOTDIR);
	MUST(link("f", "same"));
	MUST(rename("f", "same")); /* two names of one file: rename does nothing */
	MUST(stat("f", &before));
	CHECK_EQUAL(before.st_nlink, 2);
	CHECK_ERROR(syscall(SYS_renameat2, AT_FDCWD, "f", AT_FDCWD, "same", 1), EEXIST);
	MUST(syscall(SYS_renameat2, AT_FDCWD, "f", AT_FDCWD, "full", 2)); /* exchange */
	MUST(stat("full", &after));
	CHECK_EQUAL(after.st_ino, before.st_ino);
	MUST(stat("f/x", &after));
	MUST(stat("d", &after));
	MUST(rename("d/e", "e"));
	MUST(stat("d", &before));
	CHECK_EQUAL(before.st_nlink, after.st_nlink - 1);
}

static void removed_directory(void)
{
	char buffer[512];
	struct stat st;
	int fd;

	enter();
	MUST(mkdir("gone", 0755));
	fd = (int)MUST(open("gone", O_RDONLY | O_DIRECTORY));
	MUST(chdir("gone"));
	MUST(rmdir("../gone"));
	CHECK_ERROR(open("new", O_CREAT | O_RDWR, 0600), ENOENT);
	CHECK_ERROR(mkdir("new", 0755), ENOENT);
	CHECK(getcwd(buffer, sizeof(buffer)) == NULL && errno == ENOENT);
	MUST(fstat(fd, &st));
	CHECK_EQUAL(st.st_nlink, 0);
	CHECK_EQUAL(syscall(SYS_getdents64, fd, buffer, sizeof(buffer)) <= 0, 1);
	MUST(chdir(".."));
}

static void descriptors_instead_of_paths(void)
{
	char text[8], path[64];
	struct stat st;
	int dir, place, file;

	enter();
	MUST(mkdir("d", 0755));
	touch("d/f");
	dir = (int)MUST(open("d", O_RDONLY | O_DIRECTORY));
	place = (int)MUST(open("d/f", O_PATH));
	CHECK_ERROR(read(place, text, 1), EBADF);
	CHECK_ERROR(fchmod(place, 0600), EBADF);
	MUST(fstat(place, &st));
	CHECK_EQUAL(st.st_size, 1);
	MUST(fstatat(place, "", &st, AT_EMPTY_PATH));
	CHECK_ERROR(fstatat(place, "", &st, 0), ENOENT);
	CHECK_ERROR(openat(place, "x", O_RDONLY), ENOTDIR);
	CHECK_ERROR(openat(99, "x", O_RDONLY), EBADF);
	file = (int)MUST(openat(dir, "f", O_RDWR));
	CHECK_EQUAL(read(file, text, 8), 1);
	MUST(unlinkat(dir, "f", 0));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	MUST(fstat(file, &st));
	CHECK_EQUAL(st.st_nlink, 0);
	CHECK_EQUAL(MUST(open(path, O_RDWR)) >= 0, 1); /* opens the file itself, although its name is gone */
	MUST(mkdirat(dir, "sub", 0700));
	CHECK_ERROR(unlinkat(dir, "sub", 0), EISDIR);
	MUST(unlinkat(dir, "sub", AT_REMOVEDIR));
	CHECK_ERROR(unlinkat(dir, "sub", 0x40000), EINVAL);
}

static void unnamed_files(void)
{
	char path[64];
	struct stat st;
	int fd;

	enter();
	fd = (int)MUST(open(".", O_TMPFILE | O_RDWR, 0600));
	CHECK_EQUAL(write(fd, "kept", 4), 4);
	MUST(fstat(fd, &st));
	CHECK_EQUAL(st.st_nlink, 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	MUST(linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
	MUST(stat("named", &st));
	CHECK_EQUAL(st.st_size, 4);
	CHECK_EQUAL(st.st_nlink, 1);
	MUST(linkat(AT_FDCWD, path, AT_FDCWD, "again", AT_SYMLINK_FOLLOW));
}

/* A file that has lost its last name, or was made to have none, gets no name. */
static void names_that_do_not_come_back(void)
{
	char path[64];
	struct stat st;
	int fd;

	enter();
	fd = (int)MUST(open(".", O_TMPFILE | O_RDWR, 0600));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	MUST(linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
	MUST(unlink("named"));
	CHECK_ERROR(linkat(AT_FDCWD, path, AT_FDCWD, "again", AT_SYMLINK_FOLLOW), ENOENT);
	MUST(close(fd));
	fd = (int)MUST(open("file", O_CREAT | O_RDWR, 0600));
	MUST(unlink("file"));
	CHECK_ERROR(linkat(AT_FDCWD, path, AT_FDCWD, "again", AT_SYMLINK_FOLLOW), ENOENT);
	MUST(fstat(fd, &st));
	CHECK_EQUAL(st.st_nlink, 0);
	MUST(close(fd));
	MUST(open(".", O_TMPFILE | O_EXCL | O_RDWR, 0600));
	CHECK_ERROR(linkat(AT_FDCWD, path, AT_FDCWD, "again", AT_SYMLINK_FOLLOW), ENOENT);
}

/* Removing entries while reading: every name that stays is returned exactly once. */
static void removal_while_reading(void)
{
	char name[16];
	unsigned char seen[200] = { 0 };
	struct dirent *e;
	DIR *d;

	enter();
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		touch(name);
	}
	d = opendir(".");
	CHECK(d != NULL);
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] != 'n')
			continue;
		seen[atoi(e->d_name + 1)]++;
		MUST(unlink(e->d_name));
	}
	for (int i = 0; i < 200; i++)
		CHECK_EQUAL(seen[i], 1);
	rewinddir(d);
	while ((e = readdir(d)) != NULL)
		CHECK(e->d_name[0] == '.');
	closedir(d);
}

static const struct test_case cases[] = {
	CASE(dots_and_slashes), CASE(links_on_the_way), CASE(a_chain_of_links), CASE(rename_refusals),
	CASE(removed_directory), CASE(descriptors_instead_of_paths), CASE(unnamed_files),
	CASE(names_that_do_not_come_back), CASE(removal_while_reading),
};

TEST_MAIN("name", cases)
