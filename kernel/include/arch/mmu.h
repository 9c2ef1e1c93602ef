/*
 * The narrow interface between the page-table tree and what caches it: a
 * processor's TLB and hash table. Backends are told what changed, and never
 * walk areas; only their reloads read the tree.
 */
#ifndef ARCH_MMU_H
#define ARCH_MMU_H

#include <check.h>
#include <types.h>

struct mm;
struct regs;
struct text;

struct mmu_backend {
	const char *name;
	bool software_reload;
	bool hash;                      /* has a hash table, its own or one that software keeps */
	bool blocks;                    /* has block address translation and segment registers */
	u32 memory_most;                /* bytes of RAM that the mappings of the boot reach */
	/* What an entry of a root has beside its table's address, for a program's table and for the kernel's. */
	u32 root_bits, root_bits_kernel;
	/* Once, when frames can be allocated: the hash table, if the processor or a policy wants one. */
	void (*init)(void);
	/* Makes the kernel's own context known. */
	void (*kernel_context)(u32 segment_base, u32 step);
	/* Entries of one page of mm, of a VSID: removed from hash table and TLB. The tree's entry keeps PTE_NOTE so far. */
	void (*page_flush)(struct mm *mm, u32 vsid, u32 address);
	/* Everything: hash table emptied, TLB invalidated. */
	void (*flush_all)(void);
	/* The invariant checker: calls bad() for each cached entry that the tree contradicts; all, or an address's. */
	void (*check)(check_bad *bad);
	void (*check_page)(const struct mm *mm, u32 address, check_bad *bad);
};

extern const struct mmu_backend *mmu;           /* the processor's, bound at boot */
extern const struct mmu_backend hash32_backend, soft6xx_backend, soft8xx_backend;
/* Told that the tree has a new entry for a page, of which nothing is cached; policy hash.preload binds it. */
extern void (*page_installed)(struct mm *mm, u32 address, u32 pte);
struct mmu_backend soft6xx_qemu_backend(void);  /* the 603 as QEMU has it */

/* TLB: every class; one class (both ways of the set that the address indexes). */
void tlb_invalidate_all(void);
static inline void tlb_invalidate_page(u32 address)
{
	__asm__ volatile("tlbie %0; sync" : : "r"(address) : "memory");
}

/* The invariant checker's look at hash table and TLBs; of a page's TLB entries, those of its congruence class. */
void hash_tlb_check(check_bad *bad);
void hash_tlb_check_page(const struct mm *mm, u32 address, check_bad *bad);

/* What serves this processor's MMU. Off with status 67 on an unknown processor. */
const struct mmu_backend *cpu_identify(void);

#define BAT_MEMORY_MOST 0x20000000u     /* 512 MB: what two BATs of 256 MB map */
/* Block address translation registers of RAM and I/O (arch/ppc/bat.c); 0 bytes: none. */
void bat_map_ram(u32 bytes);
void bat_map_io(bool on);
/* RAM at KERNEL_UNCACHED: where it leaves one pair of registers unused. */
bool bat_maps_uncached(void);

/* Every page of I/O space: its virtual address, as arch_io gives it (arch.h), and the physical one. */
void io_for_each_page(void (*function)(u32 virtual, u32 pa));

/* Segment registers 0 to 11, of the address space whose segment 0 has this VSID; 12 to 15, the kernel's. */
void segments_load(u32 segment_base, u32 step);
void segments_load_kernel(u32 segment_base, u32 step);
/* The register of the segment that an address lies in: as it is, and its VSID; a new value, from the return on. */
static inline u32 segment_register(u32 address)
{
	u32 value;

	__asm__ volatile("mfsrin %0, %1" : "=r"(value) : "r"(address));
	return value;
}
static inline u32 segment_vsid(u32 address) { return segment_register(address) & 0xffffff; }
void segment_load(u32 address, u32 value);

#endif
