/* The 970's hash table: groups of eight entries of 16 bytes. */
#ifndef ARCH_HASH64_H
#define ARCH_HASH64_H
#include <arch/hash.h>
#include <arch/reg970.h>
#include <check.h>
#include <types.h>

/* An entry has two doublewords, here as four words: VSID[0-31]; VSID, API and flags; 0; an entry of the tree. */
struct hpte64 {
	u32 high, word0;
	u32 zero, word1;
};

extern struct hpte64 *hash64_table;     /* NULL: there is none; hash.h has its size and counters */

#define HASH64_LEAST 0x40000u           /* the architecture's minimum, 2048 groups */

void hash64_init(void);
void hash64_clear(void);
void hash64_shrink(u32 size);
int hash64_count(bool on);
void hash64_note(enum hash_note what);
/* Clears the entries of contexts whose number goes; returns how many. */
u32 hash64_sweep(u32 first, u32 count, bool (*goes)(u32 number));
struct hash_occupancy;
void hash64_occupancy(struct hash_occupancy *o);
/* Entries of 16 MB that map RAM in segments 12 and 13, or none. */
void hash64_bolt(bool on);
/* The entry of a tree as the table has it. */
u32 hash64_word1(vaddr_t address, u32 pte);

struct mm;
const struct hpte64 *hash64_find(u32 vsid, vaddr_t address);
u32 hash64_copies(u32 vsid, vaddr_t address);
void hash64_insert(u32 vsid, vaddr_t address, u32 pte, u64 *count);
/* As hash_remove (hash.h). */
extern bool (*hash64_remove)(struct mm *mm, u32 vsid, vaddr_t address);
bool hash64_remove_searching(struct mm *mm, u32 vsid, vaddr_t address);
struct pte;
bool hash64_noted(const struct pte *at, const struct hpte64 *entry);

void hash64_check(check_bad *bad);
void hash64_check_page(const struct mm *mm, vaddr_t address, check_bad *bad);
int hash64_make_fault(const char *name, struct mm *mm, vaddr_t address);
u32 hash64_address(const struct hpte64 *entry, u32 word0, u32 vsid);
static inline u32 hash64_vsid(u32 high, u32 word0) { return high << 20 | word0 >> 12; }

#endif
