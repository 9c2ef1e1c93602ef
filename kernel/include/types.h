/* Names of the machine's integers. */
#ifndef TYPES_H
#define TYPES_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef int32_t ssize_t;

/* Addresses, as wide as a pointer: of a program, of any space that the processor translates, and physical. */
typedef u32 uaddr_t;
typedef u32 vaddr_t;
typedef u32 paddr_t;

#endif
