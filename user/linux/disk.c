/*
 * disk: mounts the machine's disk, prints the file `greeting`, writes a file, and reads that back after the disk was
 * mounted anew, so that it comes from the disk.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLACE "/mnt"
#define BYTES 300000

static unsigned char wrote[BYTES], found[BYTES];

static void check(int good, const char *what)
{
	if (!good) {
		perror(what);
		exit(1);
	}
}

static size_t content(const char *path, unsigned char *bytes, size_t most)
{
	int file = open(path, O_RDONLY);
	size_t size = 0;
	ssize_t more;

	check(file >= 0, path);
	while ((more = read(file, bytes + size, most - size)) > 0)
		size += (size_t)more;
	check(more == 0, path);
	close(file);
	return size;
}

int main(void)
{
	size_t size;
	int file;

	mkdir(PLACE, 0755);
	check(mount("/dev/vda", PLACE, "ext2", 0, NULL) == 0, "mount");
	size = content(PLACE "/greeting", found, sizeof(found));
	printf("disk: %.*s\n", (int)size, (const char *)found);
	for (size_t i = 0; i < sizeof(wrote); i++)
		wrote[i] = (unsigned char)(i * 7 + i / 251);
	file = open(PLACE "/written", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	check(file >= 0, "written");
	check(write(file, wrote, sizeof(wrote)) == (ssize_t)sizeof(wrote), "write");
	close(file);
	check(umount(PLACE) == 0, "umount");
	check(mount("/dev/vda", PLACE, "ext2", 0, NULL) == 0, "mount");
	size = content(PLACE "/written", found, sizeof(found));
	check(umount(PLACE) == 0, "umount");
	if (size != sizeof(wrote) || memcmp(found, wrote, size) != 0) {
		printf("disk: other bytes came back\n");
		return 1;
	}
	printf("disk: kept\n");
	return 0;
}
