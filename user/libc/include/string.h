#ifndef PAGEWALK_STRING_H
#define PAGEWALK_STRING_H

#include <stddef.h>

void *memset(void *memory, int byte, size_t size);
void *memcpy(void *to, const void *from, size_t size);
int memcmp(const void *a, const void *b, size_t size);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t most);
char *strchr(const char *text, int character);
char *strcat(char *to, const char *from);
size_t strspn(const char *text, const char *accepted);
size_t strcspn(const char *text, const char *refused);
char *strtok(char *text, const char *separators);
char *strerror(int number);

#endif
