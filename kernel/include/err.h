/* Pointers that carry a negative errno: the last 4095 values of the address space. */
#ifndef ERR_H
#define ERR_H
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

static inline void *ERR_PTR(long error)
{
	return (void *)(intptr_t)error;
}

static inline long PTR_ERR(const void *pointer)
{
	return (long)(intptr_t)pointer;
}

static inline bool IS_ERR(const void *pointer)
{
	return (uintptr_t)pointer >= (uintptr_t)-4095;
}

#endif
