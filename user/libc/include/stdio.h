#ifndef PAGEWALK_STDIO_H
#define PAGEWALK_STDIO_H

#include <stddef.h>

#define _IOLBF 1

/* A file that is written line by line, or read. */
typedef struct file {
	int fd;
	unsigned int at, end;
	char buffer[512];
} FILE;

extern FILE *const stdout, *const stderr;

/* `mode`: "r" only. One file at a time may be open. */
FILE *fopen(const char *path, const char *mode);
char *fgets(char *line, int size, FILE *file);
int fclose(FILE *file);
int fflush(FILE *file);
/* Does nothing: stdout is always written line by line. */
int setvbuf(FILE *file, char *buffer, int mode, size_t size);
/* Conversions: %s %c %d %u %x %%, with l, ll or z, and a precision for %s. */
int printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int fprintf(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
int snprintf(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
