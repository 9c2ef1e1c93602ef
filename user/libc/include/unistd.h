#ifndef PAGEWALK_UNISTD_H
#define PAGEWALK_UNISTD_H

#include <stdint.h>
#include <sys/types.h>

#define SEEK_SET 0

extern char **environ;

void _exit(int status) __attribute__((noreturn));
pid_t fork(void);
int execv(const char *path, char *const argv[]);
pid_t getpid(void);
pid_t getppid(void);
pid_t setsid(void);
int pause(void);
ssize_t read(int fd, void *buffer, size_t size);
ssize_t write(int fd, const void *buffer, size_t size);
ssize_t pwrite(int fd, const void *buffer, size_t size, off_t position);
off_t lseek(int fd, off_t position, int whence);
int close(int fd);
int dup(int fd);
int dup2(int fd, int wanted);
int pipe(int ends[2]);
int unlink(const char *path);
void *sbrk(intptr_t bytes);

#endif
