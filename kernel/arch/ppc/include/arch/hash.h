/* The hash table, used by the 604 and 750's hardware, and by software on a 603 that emulates them. */
#ifndef HASH32_HASH_H
#define HASH32_HASH_H
#include <check.h>
#include <types.h>

struct hpte {
	u32 word0, word1;
};

extern struct hpte *hash_table;         /* NULL: there is none */
extern u32 hash_groups;                 /* PTEGs, a power of two */

/* Counters; the evictions are counted by assembly too. */
extern u64 hash_searches_flush, hash_found_flush;
extern u32 hash_evictions, hash_next_slot;
/* Insertions without preloads: those by C always, those by assembly while hash_count(true). */
extern u64 hash_inserts;                /* assembly counts in its low word */
extern u32 *hash_group_misses;          /* the same by the primary group of an entry */

/* Allocates a table of at least `least` bytes, empty: a power of two, one byte for `ram_per_byte` of RAM. */
void *hash_allocate(u32 least, u32 ram_per_byte, u32 group_bytes);
/* The same for 32-bit processors, and points SDR1 at it. */
void hash_init(void);
void hash_clear(void);
/* At boot: leaves the table's first `size` bytes in use, a power of two, at least HASH_LEAST (604 manual, 5.5.1). */
#define HASH_LEAST 0x10000u
void hash_shrink(u32 size);
void sdr1_set(u32 sdr1);                /* with translation off meanwhile (sdr1.S) */
/* Sets the mapping by which C reaches the table: KERNEL_BASE or KERNEL_UNCACHED. */
void hash_reach(u32 base);
/* Whether insertions by assembly are counted; 0 or -ENOMEM. */
int hash_count(bool on);
/* For a reload: finds the entry that translates address in VSID; NULL: none. */
const struct hpte *hash_find(u32 vsid, vaddr_t address);
/* The number of entries that translate it: more than one is an error. */
u32 hash_copies(u32 vsid, vaddr_t address);
/*
 * Inserts the tree's entry: into an empty slot, primary or secondary, else over the next one of the primary group in
 * turn. The caller passes the slot that it returns to hash_placed(), unless notes are known to be off. NULL: another
 * processor had inserted the entry, or the tree had changed.
 */
struct hpte *hash_insert(u32 vsid, vaddr_t address, u32 pte);
struct mm;
/*
 * Removes the entry of a page that is about to leave the tree, or has changed in it. False: no TLB can have it. Policy
 * hpte.slot binds it: hash_remove_searching searches both groups; hash_remove_noted reads the tree's note.
 */
extern bool (*hash_remove)(struct mm *mm, u32 vsid, vaddr_t address);
bool hash_remove_searching(struct mm *mm, u32 vsid, vaddr_t address);
/*
 * On a 604 and 750: whether a fault inserts the entry of its page into the table, alone or with the other mapped pages
 * of the aligned window of `pages` pages (a power of two, at most the range of one page table).
 */
enum hash_preload { HASH_PRELOAD_OFF, HASH_PRELOAD_FAULT, HASH_PRELOAD_AROUND };
void hash_preload(enum hash_preload what, u32 pages);
void hash_preload_rebind(void);         /* after hash_note() */
/* Binds what inserts one page, and what tells whether the table has a page. */
typedef void preload_page(struct mm *mm, vaddr_t address, u32 pte);
void hash_preload_bind(enum hash_preload what, u32 pages, preload_page *page,
		       bool (*present)(u32 vsid, vaddr_t address));
extern u64 hash_preloads;
/*
 * With hash_preload(): the faulting access is repeated at once, so its entry is inserted, which saves the failing
 * search and a reload. The first form is for one processor without notes. Counted in hash_preloads.
 */
void hash_preloaded(struct mm *mm, vaddr_t address, u32 pte);
struct hpte *hash_insert_preload(u32 vsid, vaddr_t address, u32 pte);
/* Whether insertions note their slot in the tree, and whether a flush uses the slot or the flag alone (note.c). */
enum hash_note { HASH_NOTE_OFF, HASH_NOTE_SLOT, HASH_NOTE_FLAG };
void hash_note(enum hash_note what);
extern void (*hash_placed)(vaddr_t address, const struct hpte *entry);
extern u64 hash_notes_used;
/* Whether the tree's entry notes this slot, or notes are off. */
struct pte;
bool hash_noted(const struct pte *at, const struct hpte *entry);
/* Clears the page's entry in whichever of the two slots of this number has it. */
void hash_clear_slot(u32 vsid, vaddr_t address, u32 slot);
/* What the table holds, for /proc. */
struct hash_occupancy {
	u32 valid, kernel, zombies, secondary;
	u32 groups[8 + 1];              /* groups with n valid entries */
};
void hash_occupancy(struct hash_occupancy *o);
/* Counts an entry of this VSID. */
void hash_occupy(struct hash_occupancy *o, u32 vsid, bool secondary);
/* Clears those of `count` entries whose context's number goes; the kernel's stay. Returns how many. */
u32 hash_sweep(u32 first, u32 count, bool (*goes)(u32 number));
extern const struct ppc_hash hash32;
/* For the invariant checker: checks every entry, or the entries of one page. */
void hash_check(check_bad *bad);
void hash_check_page(const struct mm *mm, vaddr_t address, check_bad *bad);

/* The address of an entry, from the word 0 that was read of it and its group. */
u32 hash_address(const struct hpte *entry, u32 word0);

#endif
