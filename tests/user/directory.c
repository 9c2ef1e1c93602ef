/* Directories and names: mkdir, rmdir, link, symlink, unlink, rename, getcwd, reading directories. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/check.h"

/* Makes the case's directory the current one. */
static void enter(void)
{
	char path[128];

	strcpy(path, test_path(""));
	MUST(chdir(path));
}

static void touch(const char *path, const char *text)
{
	test_write_file(path, text, strlen(text));
}

static int content_is(const char *path, const char *text)
{
	char buffer[256];

	test_read_file(path, buffer, sizeof(buffer));
	return strcmp(buffer, text) == 0;
}

static ino_t inode(const char *path)
{
	struct stat status;

	MUST(lstat(path, &status));
	return status.st_ino;
}

static void make_and_remove(void)
{
	struct stat status;

	enter();
	MUST(mkdir("d", 0750));
	MUST(stat("d", &status));
	CHECK(S_ISDIR(status.st_mode));
	CHECK_EQUAL(status.st_mode & 0777, 0750);
	CHECK_ERROR(mkdir("d", 0777), EEXIST);
	CHECK_ERROR(mkdir("none/d", 0777), ENOENT);
	touch("d/f", "x");
	CHECK_ERROR(rmdir("d"), ENOTEMPTY);
	CHECK_ERROR(unlink("d"), EISDIR);
	CHECK_ERROR(rmdir("d/f"), ENOTDIR);
	CHECK_ERROR(rmdir("d/."), EINVAL);
	MUST(unlink("d/f"));
	MUST(rmdir("d"));
	CHECK_ERROR(rmdir("d"), ENOENT);
	CHECK_ERROR(mkdir("/", 0777), EEXIST);
}

static void listing(void)
{
	enum { FILES = 300 };
	char name[32];
	unsigned char seen[FILES];
	int others = 0;
	struct dirent *entry;
	DIR *dir;

	enter();
	memset(seen, 0, sizeof(seen));
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "file-%d", i);
		touch(name, "");
	}
	dir = opendir(".");
	CHECK(dir != NULL);
	while ((entry = readdir(dir))) {
		int i;

		if (sscanf(entry->d_name, "file-%d", &i) == 1) {
			CHECK(i >= 0 && i < FILES && !seen[i]);
			seen[i] = 1;
			CHECK_EQUAL(entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN, 1);
		} else {
			CHECK(strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0);
			others++;
		}
	}
	CHECK_EQUAL(others, 2);
	for (int i = 0; i < FILES; i++)
		CHECK(seen[i]);
	/* Removing entries while reading: every name that was there is returned once. */
	rewinddir(dir);
	int removed = 0;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] == 'f') {
			MUST(unlink(entry->d_name));
			removed++;
		}
	CHECK_EQUAL(removed, FILES);
	closedir(dir);
}

/* Gives the next names that fit into a few bytes; marks them, and returns one of them, or -1 at the end. */
static int read_some(int fd, unsigned char *seen)
{
	char buffer[sizeof(struct dirent64) + 128];
	long size = MUST(syscall(SYS_getdents64, fd, buffer, 128));
	int number = -1;

	for (long at = 0; at < size;) {
		const struct dirent64 *entry = (const void *)(buffer + at);

		number = 0;
		if (sscanf(entry->d_name, "file-%d", &number) == 1)
			CHECK_EQUAL(seen[number]++, 0);
		at += entry->d_reclen;
	}
	return number;
}

/* Two read one directory by turns, while names go that one of them has just been given. */
static void two_readers(void)
{
	enum { FILES = 200 };
	unsigned char seen[2][FILES] = { { 0 } };
	int fd[2], last = 0, kept = 0;
	char name[32];

	enter();
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "file-%d", i);
		touch(name, "");
	}
	for (int i = 0; i < 2; i++)
		fd[i] = (int)MUST(open(".", O_RDONLY | O_DIRECTORY));
	while ((last = read_some(fd[0], seen[0])) >= 0) {
		snprintf(name, sizeof(name), "file-%d", last);
		if (last > 1)
			MUST(unlink(name));
		if (last % 3 == 0)
			read_some(fd[1], seen[1]);
	}
	while (read_some(fd[1], seen[1]) >= 0)
		;
	for (int i = 0; i < FILES; i++) {
		CHECK_EQUAL(seen[0][i], 1);
		snprintf(name, sizeof(name), "file-%d", i);
		if (access(name, F_OK) == 0) {
			kept++;
			CHECK_EQUAL(seen[1][i], 1);
		}
	}
	CHECK(kept > 0);
	MUST(lseek(fd[0], 0, SEEK_SET));
	memset(seen, 0, sizeof(seen));
	while (read_some(fd[0], seen[0]) >= 0)
		;
	for (int i = 0; i < FILES; i++)
		kept -= seen[0][i];
	CHECK_EQUAL(kept, 0);
}

static void hard_links(void)
{
	struct stat status;

	enter();
	touch("a", "text");
	MUST(link("a", "b"));
	CHECK_EQUAL(inode("a"), inode("b"));
	MUST(stat("a", &status));
	CHECK_EQUAL(status.st_nlink, 2);
	MUST(unlink("a"));
	CHECK(content_is("b", "text"));
	MUST(stat("b", &status));
	CHECK_EQUAL(status.st_nlink, 1);
	CHECK_ERROR(link("none", "c"), ENOENT);
	CHECK_ERROR(link("b", "b"), EEXIST);
	MUST(mkdir("d", 0777));
	CHECK_ERROR(link("d", "e"), EPERM);
}

static void unlinked_file_lives_on(void)
{
	char byte;
	int fd;

	enter();
	touch("a", "text");
	fd = (int)MUST(open("a", O_RDWR));
	MUST(unlink("a"));
	CHECK_ERROR(open("a", O_RDONLY), ENOENT);
	CHECK_EQUAL(read(fd, &byte, 1), 1);
	CHECK_EQUAL(byte, 't');
	touch("a", "other");
	CHECK_EQUAL(pread(fd, &byte, 1, 1), 1);
	CHECK_EQUAL(byte, 'e');
}

static void symbolic_links(void)
{
	char target[16];
	struct stat status;

	enter();
	touch("a", "text");
	MUST(symlink("a", "s"));
	CHECK(content_is("s", "text"));
	CHECK_EQUAL(readlink("s", target, sizeof(target)), 1);
	CHECK_EQUAL(target[0], 'a');
	MUST(lstat("s", &status));
	CHECK(S_ISLNK(status.st_mode));
	CHECK_EQUAL(status.st_size, 1);
	CHECK_ERROR(readlink("a", target, sizeof(target)), EINVAL);
	CHECK_ERROR(symlink("x", "s"), EEXIST);
	CHECK_ERROR(symlink("", "empty"), ENOENT);
	MUST(symlink("none", "dangling"));
	CHECK_ERROR(open("dangling", O_RDONLY), ENOENT);
	CHECK_ERROR(open("s", O_RDONLY | O_NOFOLLOW), ELOOP);
	/* Creating a file through a dangling link makes the link's target. */
	touch("dangling", "made");
	CHECK(content_is("none", "made"));
	MUST(symlink("loop2", "loop1"));
	MUST(symlink("loop1", "loop2"));
	CHECK_ERROR(open("loop1", O_RDONLY), ELOOP);
	MUST(mkdir("d", 0777));
	touch("d/f", "deep");
	MUST(symlink("d", "ds"));
	CHECK(content_is("ds/f", "deep"));
	CHECK_EQUAL(inode("ds/../a"), inode("a"));
	CHECK_ERROR(rmdir("ds"), ENOTDIR);
	MUST(unlink("ds"));
	MUST(access("d/f", F_OK));
}

static void rename_files(void)
{
	ino_t number;

	enter();
	touch("a", "A");
	touch("b", "B");
	number = inode("a");
	MUST(rename("a", "c"));
	CHECK_EQUAL(inode("c"), number);
	CHECK_ERROR(access("a", F_OK), ENOENT);
	MUST(rename("c", "b"));
	CHECK_EQUAL(inode("b"), number);
	CHECK(content_is("b", "A"));
	MUST(rename("b", "b"));
	MUST(link("b", "same"));
	/* Renaming one name of a file to another name of it does nothing. */
	MUST(rename("b", "same"));
	MUST(access("b", F_OK));
	MUST(access("same", F_OK));
	CHECK_ERROR(rename("none", "x"), ENOENT);
	CHECK_ERROR(rename("b", "none/x"), ENOENT);
	MUST(symlink("b", "s"));
	MUST(rename("s", "t"));
	CHECK(content_is("t", "A"));
}

static void rename_directories(void)
{
	enter();
	MUST(mkdir("d", 0777));
	MUST(mkdir("e", 0777));
	touch("d/f", "x");
	touch("plain", "y");
	MUST(rename("d", "e"));
	CHECK(content_is("e/f", "x"));
	MUST(mkdir("g", 0777));
	CHECK_ERROR(rename("g", "e"), ENOTEMPTY);
	CHECK_ERROR(rename("g", "plain"), ENOTDIR);
	CHECK_ERROR(rename("plain", "g"), EISDIR);
	CHECK_ERROR(rename("e", "e/below"), EINVAL);
	MUST(rename("g", "e/g"));
	/* The .. of the moved directory leads to its new parent. */
	CHECK_EQUAL(inode("e/g/.."), inode("e"));
	MUST(rename("e/f", "f"));
	CHECK(content_is("f", "x"));
}

static void current_directory(void)
{
	char start[PATH_MAX], now[PATH_MAX];
	int fd;

	enter();
	CHECK(getcwd(start, sizeof(start)) != NULL);
	MUST(mkdir("d", 0777));
	MUST(mkdir("d/e", 0777));
	MUST(chdir("d/e"));
	CHECK(getcwd(now, sizeof(now)) != NULL);
	CHECK(strncmp(now, start, strlen(start)) == 0);
	CHECK(strcmp(now + strlen(start), "/d/e") == 0);
	MUST(chdir(".."));
	fd = (int)MUST(open("e", O_RDONLY | O_DIRECTORY));
	MUST(chdir("/"));
	CHECK(getcwd(now, sizeof(now)) != NULL && strcmp(now, "/") == 0);
	MUST(fchdir(fd));
	CHECK(getcwd(now, sizeof(now)) != NULL && strcmp(now + strlen(start), "/d/e") == 0);
	CHECK(getcwd(now, 3) == NULL && errno == ERANGE);
	CHECK_ERROR(chdir("none"), ENOENT);
	touch("f", "x");
	CHECK_ERROR(chdir("f"), ENOTDIR);
}

static void relative_to_a_directory(void)
{
	struct stat status;
	int dir, fd;

	enter();
	MUST(mkdir("d", 0777));
	dir = (int)MUST(open("d", O_RDONLY | O_DIRECTORY));
	fd = (int)MUST(openat(dir, "f", O_WRONLY | O_CREAT, 0600));
	MUST(fstatat(dir, "f", &status, 0));
	MUST(mkdirat(dir, "e", 0777));
	MUST(renameat(dir, "f", AT_FDCWD, "f"));
	MUST(linkat(AT_FDCWD, "f", dir, "g", 0));
	MUST(symlinkat("g", dir, "s"));
	MUST(fstatat(dir, "s", &status, AT_SYMLINK_NOFOLLOW));
	CHECK(S_ISLNK(status.st_mode));
	MUST(faccessat(dir, "g", R_OK, 0));
	MUST(unlinkat(dir, "g", 0));
	MUST(unlinkat(dir, "e", AT_REMOVEDIR));
	CHECK_ERROR(unlinkat(dir, "none", 0), ENOENT);
	CHECK_ERROR(openat(fd, "x", O_RDONLY), ENOTDIR);
	CHECK_ERROR(openat(99, "x", O_RDONLY), EBADF);
}

static void long_names(void)
{
	char name[300], path[PATH_MAX + 10];

	enter();
	memset(name, 'n', sizeof(name));
	name[255] = 0;
	touch(name, "x");
	CHECK(content_is(name, "x"));
	name[255] = 'n';
	name[256] = 0;
	CHECK_ERROR(open(name, O_RDONLY | O_CREAT, 0600), ENAMETOOLONG);
	memset(path, '/', sizeof(path));
	path[sizeof(path) - 1] = 0;
	CHECK_ERROR(open(path, O_RDONLY), ENAMETOOLONG);
	/* Slashes and dots in any number. */
	MUST(mkdir("d", 0777));
	touch(".//d/././../d//f", "y");
	CHECK(content_is("d/f", "y"));
	CHECK_ERROR(open("d/f/", O_RDONLY), ENOTDIR);
	MUST(mkdir("e/", 0777));
}

static void deep_trees(void)
{
	enter();
	for (int i = 0; i < 60; i++) {
		MUST(mkdir("deeper", 0777));
		MUST(chdir("deeper"));
	}
	for (int i = 0; i < 60; i++) {
		MUST(chdir(".."));
		MUST(rmdir("deeper"));
	}
}

static void link_counts(void)
{
	struct stat status;

	enter();
	MUST(mkdir("d", 0777));
	touch("d/f", "");
	MUST(stat("d/f", &status));
	CHECK_EQUAL(status.st_nlink, 1);
	MUST(link("d/f", "d/g"));
	MUST(rename("d/g", "d/f2"));
	MUST(stat("d/f", &status));
	CHECK_EQUAL(status.st_nlink, 2);
}

static void fifo_nodes(void)
{
	struct stat status;

	enter();
	MUST(mkfifo("p", 0622));
	MUST(stat("p", &status));
	CHECK(S_ISFIFO(status.st_mode));
	CHECK_ERROR(open("p", O_WRONLY | O_NONBLOCK), ENXIO);
	MUST(open("p", O_RDONLY | O_NONBLOCK));
	MUST(open("p", O_WRONLY | O_NONBLOCK));
}

static int exchange(const char *one, const char *other)
{
	return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
}

static nlink_t links(const char *path)
{
	struct stat status;

	MUST(lstat(path, &status));
	return status.st_nlink;
}

static void exchanged_names(void)
{
	ino_t one, other;

	enter();
	MUST(mkdir("a", 0700));
	MUST(mkdir("a/below", 0700));
	touch("a/a-long-name", "one");
	touch("b", "other");
	one = inode("a/a-long-name");
	other = inode("b");
	MUST(exchange("a/a-long-name", "b"));
	CHECK_EQUAL(inode("b"), one);
	CHECK_EQUAL(inode("a/a-long-name"), other);
	CHECK(content_is("b", "one") && content_is("a/a-long-name", "other"));
	/* A directory and a file. */
	MUST(exchange("b", "a/below"));
	CHECK_EQUAL(inode("a/below"), one);
	CHECK_EQUAL(links("a"), 2);
	touch("b/in-it", "x");
	CHECK_ERROR(exchange("a", "a/below"), EINVAL);
	CHECK_ERROR(exchange("a/below", "a"), EINVAL);
	CHECK_ERROR(exchange("a", "none"), ENOENT);
	/* Two names of one file stay. */
	MUST(link("a/below", "again"));
	MUST(exchange("again", "a/below"));
	MUST(exchange("again", "again"));
	CHECK_EQUAL(links("again"), 2);
	MUST(unlink("again"));
	CHECK(content_is("a/below", "one"));
}

static const struct test_case cases[] = {
	CASE(make_and_remove), CASE(listing), CASE(two_readers), CASE(hard_links), CASE(unlinked_file_lives_on),
	CASE(symbolic_links),
	CASE(rename_files), CASE(rename_directories), CASE(current_directory), CASE(relative_to_a_directory),
	CASE(long_names), CASE(deep_trees), CASE(link_counts), CASE(fifo_nodes),
	CASE(exchanged_names),
};

TEST_MAIN("directory", cases)
