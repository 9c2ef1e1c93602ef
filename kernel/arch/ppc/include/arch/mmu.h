/* Backends, BATs, segment registers and TLB instructions of a PowerPC. */
#ifndef ARCH_MMU_H
#define ARCH_MMU_H
#include <arch/hash.h>
#include <arch/reload.h>
#include <mmu.h>
#include <types.h>

struct mm;

struct hash_occupancy;

/* A hash table, searched by hardware or software: what policies and /proc do with it (arch/hash.h says more). */
struct ppc_hash {
	u32 least, entry_size;          /* bytes of the smallest table, and of an entry */
	void (*shrink)(u32 size);
	int (*count)(bool on);
	void (*note)(enum hash_note what);
	void (*preload)(enum hash_preload what, u32 pages);
	/* Clears those of `count` entries whose context's number goes; the kernel's stay. Returns how many. */
	u32 (*sweep)(u32 first, u32 count, bool (*goes)(u32 number));
	void (*occupancy)(struct hash_occupancy *o);
	/* Sets the mapping by which C reaches the table. NULL: there is no other. */
	void (*reach)(u32 base);
};

/* The part of a backend that only this architecture uses. */
struct ppc_backend {
	struct mmu_backend mmu;
	bool software_reload;
	const struct ppc_hash *hash;    /* NULL: none */
	bool bats;                      /* block address translation */
	bool wide;                      /* registers have 64 bits; the kernel and programs keep 32 of them */
	bool segments;                  /* segment registers, with VSIDs */
	/* Loads the context of mm, which must have one. NULL: loads the kernel's context only. */
	void (*kernel_context)(void);
	void (*load_context)(const struct mm *mm);
	/* The images of a form of the reload handlers. */
	const struct reload_set *(*reload)(enum reload_form form);
	/*
	 * Pins so many blocks of 8 MB for the kernel's text and data, and one for I/O; replaces those pinned before,
	 * and counts the loaded entries in pinned_loaded. NULL: it cannot.
	 */
	void (*pin_kernel)(u32 text, u32 data, bool io);
	/* From now on the reload maps the kernel's RAM by large pages, or by 4 KB again. NULL: it cannot. */
	void (*map_large)(bool on);
	/* fetch_withheld has changed, before the reload's images follow it. NULL: no fetch can be refused. */
	void (*withhold_fetch)(void);
	/* QEMU's form of this processor, if it differs. */
	const struct ppc_backend *(*on_qemu)(void);
};

extern u64 pinned_loaded;
/* Fetches from a program's page need PTE_FETCH (policy icache.flush=exec). */
extern bool fetch_withheld;
extern const struct ppc_backend *backend;       /* its first member is copied to mmu[0] */
extern const struct ppc_backend hash32_backend, hash64_backend, soft405_backend, soft6xx_backend, soft8xx_backend;
const struct ppc_backend *soft6xx_on_qemu(void);

/* Invalidates every class of the TLB; or one class (both ways of the set that the address selects). */
void tlb_invalidate_all(void);
static inline void tlb_invalidate_page(vaddr_t address)
{
	__asm__ volatile("tlbie %0; sync" : : "r"(address) : "memory");
}

/*
 * Forgets the translations that the vectors of a 603 load when a miss is repeated (soft6xx/backend.c). To be called
 * where the TLB is invalidated, also before address space numbers are used again.
 */
void prepared_forget(void);

/* For the invariant checker: checks hash table and TLBs; for one page, the TLB entries of its congruence class. */
void hash_tlb_check(check_bad *bad);
void hash_tlb_check_page(const struct mm *mm, vaddr_t address, check_bad *bad);
/* Makes a fault that these find: "hpte", "hpte-twice" or "tlb". The second one is for a backend without a table. */
int hash_tlb_make_fault(const char *name, struct mm *mm, vaddr_t address);
int tlb_make_fault(const char *name, struct mm *mm, vaddr_t address);

/* The backend of this processor. Powers off with status 67 on an unknown one. */
const struct ppc_backend *cpu_identify(void);

#define BAT_MEMORY_MOST 0x20000000u     /* 512 MB: two BATs of 256 MB */
/* Block address translation registers of RAM and I/O (arch/ppc/bat.c); 0 bytes: none. */
void bat_map_ram(u32 bytes);
void bat_map_io(bool on);
/*
 * The OpenPIC's block stays mapped whatever bat_map_io() is told: a handler uses it that may not miss
 * (several/external_flush.h).
 */
void bat_keep_openpic(bool keep);

/* Register the files of /proc/mmu: bats; segments; for a backend with a hash table, these and the table. */
void bat_proc_init(void);
void segments_proc_init(void);
void hash_proc_init(void);

/*
 * These set the steps of mmu->activate(), in this order: the backend's step, or the step of several processors; what a
 * policy empties (NULL: nothing); activate_set_report() (mmu.h). If there is one step only, mmu->activate is this step.
 */
void activate_set_own(void (*step)(struct mm *mm));
void activate_set_flush(void (*step)(void));

/* Shared by backends with segment registers; the kernel's registers are 12 to 15. */
void segments_activate(struct mm *mm);
void segments_load_context(const struct mm *mm);
void segments_kernel_context(void);
/* Loads registers 0 to 11 for the address space whose segment 0 has this VSID. */
void segments_load(u32 segment_base, u32 step);
/* The register of an address's segment: its value, its VSID; and loading it, effective at the return. */
static inline u32 segment_register(vaddr_t address)
{
	u32 value;

	__asm__ volatile("mfsrin %0, %1" : "=r"(value) : "r"(address));
	return value;
}
static inline u32 segment_vsid(vaddr_t address) { return segment_register(address) & 0xffffff; }
void segment_load(vaddr_t address, u32 value);

#endif
