/* A segment for threads, as set_thread_area and clone take it (uapi x86 asm/ldt.h). */
#ifndef ABI_USER_DESC_H
#define ABI_USER_DESC_H
#include <types.h>

struct user_desc {
	u32 entry, base, limit;
	u32 flags;
};

#define USER_DESC_32BIT       0x01u
#define USER_DESC_CONTENTS    0x06u   /* 0 data, 1 data that grows down, 2 and 3 code */
#define USER_DESC_GROWS_DOWN  0x02u
#define USER_DESC_READ_ONLY   0x08u
#define USER_DESC_PAGES       0x10u   /* the limit counts pages */
#define USER_DESC_ABSENT      0x20u
#define USER_DESC_USEABLE     0x40u
#define USER_DESC_ALL         0x7fu

#endif
