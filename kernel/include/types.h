<<<<<<< HEAD
/* Sized integers by their short names, and the freestanding basics. */
#ifndef TYPES_H
#define TYPES_H

=======
/* Names of the machine's integers. */
#ifndef TYPES_H
#define TYPES_H

#include <stdarg.h>
>>>>>>> 3b0108a (Kernel: headers of memory, processor, policies and the control device)
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
<<<<<<< HEAD
=======
typedef int32_t ssize_t;
>>>>>>> 3b0108a (Kernel: headers of memory, processor, policies and the control device)

#endif
