/* What <arch/pte.h> has on a processor whose entries of tables and of roots are words of 32 bits. */
#ifndef PTE_WORD_H
#define PTE_WORD_H
#include <types.h>

typedef u32 pte_t;

/* The memory of an entry of a table, and of an entry of a root. */
struct pte {
	u32 word;
};
struct root_entry {
	u32 word;
};

#define PTE_NONE 0u

/* The accesses that programs may make to a page. */
enum pte_access {
	PTE_NO_ACCESS,
	PTE_READ,
	PTE_READ_WRITE,
};

/* The entry's word, for messages. */
static inline u32 pte_word(pte_t pte) { return pte; }

/* Entries of a root: the physical address of a table, with bits of the processor or the backend; 0: no table. */
static inline bool root_entry_none(struct root_entry entry) { return !entry.word; }
static inline struct root_entry root_entry_make(paddr_t table_pa, u32 bits)
{
	return (struct root_entry){ table_pa | bits };
}

#endif
