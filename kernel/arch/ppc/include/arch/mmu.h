/* Backends, BATs, segment registers and TLB instructions of a PowerPC. */
#ifndef ARCH_MMU_H
#define ARCH_MMU_H

#include <mmu.h>
#include <types.h>

struct mm;

struct reload_set;

/* What this architecture's code knows of a backend beside the kernel's interface to it. */
struct ppc_backend {
	struct mmu_backend mmu;
	bool software_reload;
	bool hash;                      /* a hash table, its own or one that software keeps */
	bool bats;                      /* block address translation */
	bool segments;                  /* segment registers, with VSIDs */
	/* The kernel's own context into the processor; that of mm, which has one (NULL: none but the kernel's). */
	void (*kernel_context)(void);
	void (*load_context)(const struct mm *mm);
	/* The images of a missing translation, in C or in assembly. */
	const struct reload_set *(*reload)(bool assembly);
	/* So many entries of 8 MB stay in the TLBs for the kernel's text and data, and one for I/O. NULL: it cannot. */
	void (*pin_kernel)(u32 text, u32 data, bool io);
	/* The same processor as QEMU has it, if that differs. */
	const struct ppc_backend *(*on_qemu)(void);
};

extern const struct ppc_backend *backend;       /* whose first member mmu[0] is a copy of */
extern const struct ppc_backend hash32_backend, soft6xx_backend, soft8xx_backend;
const struct ppc_backend *soft6xx_on_qemu(void);

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
const struct ppc_backend *cpu_identify(void);

#define BAT_MEMORY_MOST 0x20000000u     /* 512 MB: what two BATs of 256 MB map */
/* Block address translation registers of RAM and I/O (arch/ppc/bat.c); 0 bytes: none. */
void bat_map_ram(u32 bytes);
void bat_map_io(bool on);

/* Files of /proc/mmu: bats; segments; and of a backend with a hash table, these and the table's. */
void bat_proc_init(void);
void segments_proc_init(void);
void hash_proc_init(void);

/* What backends with segment registers share; the kernel's are 12 to 15. */
void segments_activate(struct mm *mm);
void segments_load_context(const struct mm *mm);
void segments_kernel_context(void);
/* Registers 0 to 11, of the address space whose segment 0 has this VSID. */
void segments_load(u32 segment_base, u32 step);
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
