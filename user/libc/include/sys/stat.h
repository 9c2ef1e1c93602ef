#ifndef PAGEWALK_SYS_STAT_H
#define PAGEWALK_SYS_STAT_H

#include <sys/types.h>

/* As the call `stat` fills it in on PPC32. */
struct stat {
	unsigned long st_dev, st_ino;
	mode_t st_mode;
	unsigned short st_nlink;
	unsigned long st_uid, st_gid, st_rdev;
	off_t st_size;
	unsigned long st_blksize, st_blocks, times[6], unused[2];
};

int stat(const char *path, struct stat *found);
int mkdir(const char *path, mode_t mode);

#endif
