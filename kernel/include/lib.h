/* printk, panic, strings, and the small helpers that every part uses. */
#ifndef LIB_H
#define LIB_H
#include <stdarg.h>
#include <types.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define ALIGN_UP(x, a) (((x) + ((a) - 1)) & ~((__typeof__(x))(a) - 1))
#define ALIGN_DOWN(x, a) ((x) & ~((__typeof__(x))(a) - 1))
#define MIN(a, b) ({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ < b_ ? a_ : b_; })
#define MAX(a, b) ({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ > b_ ? a_ : b_; })
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define NORETURN __attribute__((noreturn))
/* For rare paths: kept out of line, so that the usual path of the caller saves no registers for it. */
#define NOINLINE __attribute__((noinline))
/* arch_replace() may put a branch in the place of its first instruction. */
#define REPLACED __attribute__((noipa))
#define barrier() __asm__ volatile("" ::: "memory")

/*
 * The cost category to which the machine charges a function's events (docs/interfaces.md, section 3). It stands before
 * the return type:
 * CAUSE(copy) void copy_page(...) { ... }
 */
#define CAUSE(name) __attribute__((section(".text.cause." #name)))

/* Exit statuses of a run (docs/interfaces.md, section 5). */
#define EXIT_COMMAND_LINE 64
#define EXIT_NO_INIT      65
#define EXIT_MEMORY       66
#define EXIT_PANIC        67

/* Console. With `quiet` on the command line, printk is silent; console_printf never is. */
void printk(const char *format, ...) __attribute__((format(printf, 1, 2)));
void console_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
/*
 * Prints the message, the registers of the exception that led here if there was one, and a back trace; powers off with
 * status 67.
 */
NORETURN void panic(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints a message and powers off with the given status. */
NORETURN void fatal(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Stops the machine. Without a control device (QEMU) it prints the status and halts the processor. */
NORETURN void power_off(int status);

#define ASSERT(condition)                                                      \
	do {                                                                   \
		if (unlikely(!(condition)))                                    \
			panic("%s:%d: %s does not hold", __FILE__, __LINE__, #condition); \
	} while (0)

/*
 * Formats: d i u x X o c s p %, flags - 0 + space #, width and precision (also *), length h hh l ll z t. Returns the
 * length of the whole text, even if it did not fit.
 */
int vsnprintf(char *buffer, size_t size, const char *format, va_list args);
int snprintf(char *buffer, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memchr(const void *s, int byte, size_t n);
size_t strlen(const char *s);
size_t strnlen(const char *s, size_t max);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
char *strchr(const char *s, int c);
char *strrchr(const char *s, int c);
/* Copies at most size-1 bytes and always ends with NUL; returns strlen(from). */
size_t strlcpy(char *to, const char *from, size_t size);
/* Reads a decimal, hexadecimal (0x) or octal (0) number, which must be all of s and fit. 0 or -EINVAL. */
int parse_u32(const char *s, u32 *value);

/* A xorshift generator (lib/random.c). */
u32 random_u32(void);
void random_bytes(void *to, size_t n);
#define RANDOM_PIECE 256u       /* a call makes so many bytes at once; no signal interrupts it before (random(4)) */

#endif
