/* What the files of the 970's backend share. */
#ifndef HASH64_H
#define HASH64_H
#include <arch/hash64.h>

/* table.c */
void hash64_clear_slot(u32 vsid, vaddr_t address, u32 slot);

/* store.S */
void hash64_store(struct hpte64 *entry, u32 high, u32 word0, u32 word1);

/* note.c: the note of an insertion, if policy hpte.slot asks for it. */
extern void (*hash64_placed)(vaddr_t address, const struct hpte64 *entry);

/* segments.S */
void segments64_load(u32 segment_base, u32 step);
void segment64_load(vaddr_t address, u32 value);
/* SDR1, and the words of the handlers: the table, the mask of a group's offset, SDR1's size. */
void hash64_load_table(u32 table_pa, u32 mask, u32 size);
void hash64_load_kernel(bool large, u32 segment_base, u32 step);

#endif
