/* Text built line by line for the files of /proc, in a buffer that grows. */
#ifndef TEXT_H
#define TEXT_H
#include <types.h>

struct text {
	char *buffer;
	size_t len, size;
	bool no_memory;
	bool preemptible;       /* others may run while the text is written */
};

void text_printf(struct text *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_cpus(struct text *, u32 cpus);        /* a set of processors, as in "0,2-3" */
void text_puts(struct text *, const char *);
void text_write(struct text *, const char *, size_t);
void text_putc(struct text *, char);

#endif
