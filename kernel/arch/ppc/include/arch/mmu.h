/* Backends, BATs, segment registers and TLB instructions of a PowerPC. */
#ifndef ARCH_MMU_H
#define ARCH_MMU_H

#include <mmu.h>
#include <types.h>

struct mm;
struct regs;
struct text;

extern const struct mmu_backend hash32_backend, soft6xx_backend, soft8xx_backend;
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
