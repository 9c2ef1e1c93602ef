/* The interface to entries of the page-table tree (pte_bits.h has the format). */
#ifndef ARCH_PTE_H
#define ARCH_PTE_H
#include <arch/pte_bits.h>
#include <pte_word.h>

/* PP = 3 is read-only for the kernel too, so that its stores to programs fault if a page must be copied first. */
#define ARCH_KERNEL_OBEYS_READ_ONLY 1

/* device: the page is cache-inhibited and guarded. */
static inline pte_t pte_make(paddr_t pa, enum pte_access access, bool device)
{
	pte_t pte = pa | (device ? PTE_UNCACHED | PTE_GUARDED : 0);

	if (access == PTE_NO_ACCESS)
		return pte | PP_KERNEL;
	return pte | PTE_VALID | (access == PTE_READ_WRITE ? PTE_CHANGED | PP_USER_RW : PP_USER_RO);
}

/* A page of the kernel's own. */
static inline pte_t pte_make_kernel(paddr_t pa, bool device)
{
	return pa | PTE_VALID | PTE_CHANGED | PP_KERNEL | (device ? PTE_UNCACHED | PTE_GUARDED : 0);
}

static inline bool pte_none(pte_t pte) { return !(pte & ~(u32)PTE_NOTE); }
/* Hardware may use the entry. An entry with contents that is not present permits no access. */
static inline bool pte_present(pte_t pte) { return pte & PTE_VALID; }
static inline bool pte_user(pte_t pte) { return (pte & PTE_PP) != PP_KERNEL; }
static inline bool pte_writable(pte_t pte) { return (pte & PTE_PP) == PP_USER_RW; }
static inline paddr_t pte_pa(pte_t pte) { return pte & PTE_RPN; }

static inline pte_t pte_write_protect(pte_t pte) { return (pte & ~(u32)(PTE_PP | PTE_CHANGED)) | PP_USER_RO; }
static inline pte_t pte_make_writable(pte_t pte) { return (pte & ~(u32)PTE_PP) | PTE_CHANGED | PP_USER_RW; }

/* Fetches from the page are permitted. It matters only while arch_fetch_withhold() is on. */
static inline bool pte_fetchable(pte_t pte) { return pte & PTE_FETCH; }
static inline pte_t pte_make_fetchable(pte_t pte) { return pte | PTE_FETCH; }

/* Hides an entry from hardware for a while, and shows it again: it keeps what it maps. */
static inline pte_t pte_hide(pte_t pte) { return pte & ~(u32)PTE_VALID; }
static inline pte_t pte_shown(pte_t pte) { return (pte & PTE_PP) != PP_KERNEL ? pte | PTE_VALID : pte; }

/*
 * An entry's word also holds a note: the slot of the page in the hash table (policy hpte.slot), used by the hash
 * table's code only. Storing an entry keeps the note until the page is flushed; pte_copy() drops it.
 */
static inline pte_t pte_get(const struct pte *at) { return at->word; }
static inline pte_t pte_copy(pte_t pte) { return pte & ~(u32)PTE_NOTE; }
static inline u32 pte_note(const struct pte *at) { return at->word & PTE_NOTE; }
static inline bool pte_noted(const struct pte *at) { return pte_note(at); }
static inline void pte_store(struct pte *at, pte_t pte) { at->word = pte | (at->word & PTE_NOTE); }
/* Whether all entries of a cache line are none. */
#define PTE_LINE 8u
static inline bool pte_line_none(const struct pte *at)
{
	return pte_none(at[0].word | at[1].word | at[2].word | at[3].word |
			at[4].word | at[5].word | at[6].word | at[7].word);
}
/* Stores an entry where there was none. */
static inline void pte_store_first(struct pte *at, pte_t pte) { at->word = pte; }
static inline void pte_set_note(struct pte *at, u32 note) { at->word = (at->word & ~(u32)PTE_NOTE) | note; }
/* Clears an entry and its note. Call it only when no translation of the page is cached. */
static inline void pte_clear(struct pte *at) { at->word = 0; }

static inline paddr_t root_entry_pa(struct root_entry entry) { return entry.word & PTE_RPN; }

#endif
