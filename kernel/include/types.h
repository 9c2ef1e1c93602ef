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
typedef unsigned long long u64;         /* printed by %llu, whatever uint64_t is */
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef long long s64;

#include <arch/types.h>

#endif
