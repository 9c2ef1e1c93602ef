/*
 * The TLB instructions of the PPC405 (PPC405 manual, 7.5), which the compiler's other code must not use. What they
 * change holds for fetches and accesses after an isync or rfi. An entry takes its number from PID, and a read returns
 * the entry's there.
 */
#ifndef SOFT405_TLB_H
#define SOFT405_TLB_H
#include <arch/reg405.h>
#include <types.h>

#define MACHINE_405(code) ".machine push; .machine \"405\"; " code "; .machine pop"

static inline u32 tlb405_pid(void)
{
	u32 pid;
	__asm__ volatile("mfspr %0, %1" : "=r"(pid) : "i"(SPR_PID));
	return pid;
}
static inline void tlb405_set_pid(u32 pid) { __asm__ volatile("mtspr %0, %1" : : "i"(SPR_PID), "r"(pid) : "memory"); }

/* The entry gets the current number. */
static inline void tlb405_write(u32 entry, u32 high, u32 low)
{
	__asm__ volatile(MACHINE_405("tlbwe %2, %0, 1; tlbwe %1, %0, 0; isync")
			 : : "r"(entry), "r"(high), "r"(low) : "memory");
}

/* The entry that matches under the current number, or false. */
static inline bool tlb405_find(vaddr_t address, u32 *entry)
{
	u32 index, cr;

	__asm__ volatile(MACHINE_405("tlbsx. %0, 0, %2; mfcr %1") : "=r"(index), "=r"(cr) : "r"(address) : "cr0");
	*entry = index;
	return cr & 0x20000000;         /* CR0[EQ] */
}

/* PID has the entry's number after this. */
static inline void tlb405_read(u32 entry, u32 *high, u32 *low)
{
	__asm__ volatile(MACHINE_405("tlbre %0, %2, 0; tlbre %1, %2, 1")
			 : "=&r"(*high), "=r"(*low) : "r"(entry) : "memory");
}

#endif
