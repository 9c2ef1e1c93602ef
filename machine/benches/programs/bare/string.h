/* For programs without a C library: see bare.c. */
void *memset(void *to, int value, __SIZE_TYPE__ bytes);
void *memcpy(void *to, const void *from, __SIZE_TYPE__ bytes);
