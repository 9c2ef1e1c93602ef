/* For programs without a C library: see bare.c. */
int printf(const char *format, ...);
