/* A table of generated calls: each case lays out memory or files, makes calls, and prints one line that tells what came
 * of them. The same program on two kernels prints the same lines where the kernels behave alike. */
#ifndef PAGEWALK_CALLTABLE_H
#define PAGEWALK_CALLTABLE_H

#include <stddef.h>
#include <stdint.h>

#define PAGE 4096ul

/* main.c: the line of a case. A line that is too long is cut. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The next number of the case, below `limit`. */
uint32_t pick(uint32_t limit);
/* One of the numbers; ONE_OF() counts them. */
long pick_of(const long *numbers, size_t count);
#define ONE_OF(...) pick_of((const long[]){ __VA_ARGS__ }, sizeof((const long[]){ __VA_ARGS__ }) / sizeof(long))
/* What the function says in a child process belongs to the case, too. */
void say_in_child(void (*function)(void));
/* Says an error's name after a call that returned -1, else the number. */
void say_result(long result);
/* Ends the program with a message: the kernel cannot lay out a case. */
void must(long result, const char *what);

/* arena.c: two ranges of pages, A and T, which each case lays out anew. */
#define ARENA_PAGES 12
#define ARENA ((char *)0x50000000)
#define TARGET ((char *)0x50100000)
void arena_start(void);
void arena_start_child(void);
/* Lays out both ranges by the case's numbers, and says how. */
void arena_lay_out(void);
/* Unmaps both ranges, and what arena_clear_also() was told of: ranges where the kernel has put something. */
void arena_clear(void);
void arena_clear_also(char *at, size_t size);
/* Says rights and contents of each page. */
void arena_tell(void);
void arena_tell_range(const char *name, char *at, unsigned pages);
/* Says an address as a place in a range. */
void say_address(const char *at);
/* The bytes that mlock holds, in pages. */
unsigned locked_pages(void);

/* The groups. */
void case_mremap(void);
void case_mprotect(void);
void case_madvise(void);
void case_mlock(void);
void case_msync(void);
void case_mmap(void);
void case_mixed(void);
void case_vectors(void);
void case_futex(void);
void case_absent(void);

#endif
