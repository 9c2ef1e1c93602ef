#ifndef PAGEWALK_STDLIB_H
#define PAGEWALK_STDLIB_H

#include <stddef.h>

void exit(int status) __attribute__((noreturn));
char *getenv(const char *name);
unsigned long long strtoull(const char *text, char **end, int base);
/* Memory is never given back: the programs are short. */
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
void free(void *memory);

#endif
