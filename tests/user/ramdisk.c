/* /dev/ram0, the RAM disk. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/check.h"

#define DISK "/dev/ram0"

static uint64_t size_of(int fd)
{
	uint64_t size = 0;

	MUST(ioctl(fd, BLKGETSIZE64, &size));
	return size;
}

static void contents(void)
{
	int fd = (int)MUST(open(DISK, O_RDWR));
	char data[8192], back[8192];

	memset(data, 'x', sizeof(data));
	MUST(ioctl(fd, BLKFLSBUF, 0));
	CHECK_EQUAL(pread(fd, back, sizeof(back), 1000), sizeof(back));
	CHECK(back[0] == 0 && back[8191] == 0);
	/* Across the boundaries of three pages. */
	CHECK_EQUAL(pwrite(fd, data, sizeof(data), 3000), sizeof(data));
	MUST(close(fd));
	fd = (int)MUST(open(DISK, O_RDWR));
	CHECK_EQUAL(pread(fd, back, sizeof(back), 2999), sizeof(back));
	CHECK(back[0] == 0 && back[1] == 'x' && back[8191] == 'x');
	MUST(ioctl(fd, BLKFLSBUF, 0));
	CHECK_EQUAL(pread(fd, back, 1, 3000), 1);
	CHECK_EQUAL(back[0], 0);
}

static void ends(void)
{
	int fd = (int)MUST(open(DISK, O_RDWR));
	uint64_t size = size_of(fd);
	char data[100] = "";

	CHECK(size >= 1u << 20);
	CHECK_EQUAL((uint64_t)lseek64(fd, 0, SEEK_END), size);
	CHECK_EQUAL(read(fd, data, sizeof(data)), 0);
	CHECK_ERROR(write(fd, data, sizeof(data)), ENOSPC);
	CHECK_EQUAL(pwrite64(fd, data, sizeof(data), (off64_t)size - 60), 60);
	CHECK_EQUAL(pread64(fd, data, sizeof(data), (off64_t)size - 60), 60);
	CHECK_ERROR(lseek64(fd, (off64_t)size + 1, SEEK_SET), EINVAL);
	MUST(ioctl(fd, BLKFLSBUF, 0));
}

static void requests(void)
{
	int fd = (int)MUST(open(DISK, O_RDWR)), value = 1;
	unsigned long sectors;
	struct stat status;

	MUST(fstat(fd, &status));
	CHECK(S_ISBLK(status.st_mode) && status.st_rdev == makedev(1, 0));
	MUST(ioctl(fd, BLKGETSIZE, &sectors));
	CHECK_EQUAL(sectors, size_of(fd) / 512);
	MUST(ioctl(fd, BLKSSZGET, &value));
	CHECK_EQUAL(value, 512);
	MUST(ioctl(fd, BLKROSET, &value));
	CHECK_ERROR(write(fd, "x", 1), EPERM);
	value = 0;
	MUST(ioctl(fd, BLKROSET, &value));
	MUST(ioctl(fd, BLKROGET, &value));
	CHECK_EQUAL(value, 0);
	CHECK_ERROR(ioctl(fd, BLKRRPART, 0), ENOTTY);
}

/* A device node with another minor number is another disk. */
static void other_disks(void)
{
	const char *path = test_path("disk");
	char byte = 'x';
	int fd, other;

	MUST(mknod(path, S_IFBLK | 0600, makedev(1, 5)));
	fd = (int)MUST(open(DISK, O_RDWR));
	other = (int)MUST(open(path, O_RDWR));
	CHECK_EQUAL(write(other, &byte, 1), 1);
	CHECK_EQUAL(read(fd, &byte, 1), 1);
	CHECK_EQUAL(byte, 0);
	MUST(ioctl(other, BLKFLSBUF, 0));
	MUST(unlink(path));
	MUST(mknod(path, S_IFBLK | 0600, makedev(1, 16)));
	CHECK_ERROR(open(path, O_RDWR), ENXIO);
}

static const struct test_case cases[] = { CASE(contents), CASE(ends), CASE(requests), CASE(other_disks) };

TEST_MAIN("ramdisk", cases)
