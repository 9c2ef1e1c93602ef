/* For programs without a C library: see bare.c. */
unsigned long strtoul(const char *text, char **end, int base);
void abort(void);
#define NULL ((void *)0)
