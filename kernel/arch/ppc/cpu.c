/* Identifying the processor, its clocks and caches. */
#include <abi/auxv.h>
#include <arch.h>
#include <arch/core.h>
#include <arch/mmu.h>
#include <lib.h>
#include <smp.h>
#include <text.h>

#include "internal.h"

struct arch_cpu arch_cpu;
const struct core *cpu_core;
u32 regs_step_bit;
u32 cpu_pvr;

#define HWCAP_FPU (PPC_FEATURE_32 | PPC_FEATURE_HAS_FPU)

/* Versions and power management: each processor's user's manual, chapters 2 and 10. */
const struct core cores[] = {
	{ 0x0003, true, true, MSR_SE, false, false, start_bats, "603", &soft6xx_backend, HWCAP_FPU },
	{ 0x0006, true, true, MSR_SE, false, false, start_bats, "603e", &soft6xx_backend, HWCAP_FPU },
	{ 0x0007, true, true, MSR_SE, false, false, start_bats, "603ev", &soft6xx_backend, HWCAP_FPU },
	{ 0x0004, true, false, MSR_SE, false, true, start_bats, "604", &hash32_backend, HWCAP_FPU },
	{ 0x0009, true, false, MSR_SE, false, true, start_bats, "604e", &hash32_backend, HWCAP_FPU },
	{ 0x000a, true, false, MSR_SE, false, true, start_bats, "604ev", &hash32_backend, HWCAP_FPU },
	{ 0x0008, true, true, MSR_SE, true, true, start_bats, "750", &hash32_backend, HWCAP_FPU },
	/* A program keeps 32 bits of a register (docs/kernel-processors.md): AT_HWCAP has no bit for 64. */
	{ 0x0039, false, false, MSR_SE, false, false, start_970, "970", &hash64_backend, HWCAP_FPU },
	{ 0x003c, false, false, MSR_SE, false, false, start_970, "970FX", &hash64_backend, HWCAP_FPU },
	{ 0x4011, false, false, MSR_DE, false, false, start_405, "405", &soft405_backend,
	  PPC_FEATURE_32 | PPC_FEATURE_HAS_4xxMAC },
	{ 0x0050, false, false, MSR_SE, false, false, start_8xx, "8xx", &soft8xx_backend, PPC_FEATURE_32 },
	/* An unknown one starts by BATs, to be refused in C. */
	{ .start = start_bats },
};

const struct ppc_backend *cpu_identify(void)
{
	char names[80] = "";
	size_t length = 0;

	__asm__ volatile("mfspr %0, %1" : "=r"(cpu_pvr) : "i"(SPR_PVR));
	for (const struct core *core = cores; core->version; core++) {
		if (core->version == cpu_pvr >> 16) {
			cpu_core = core;
			regs_step_bit = core->step;
			arch_cpu.name = core->name;
			arch_cpu.hwcap = core->hwcap;
			return core->backend;
		}
		length += (size_t)snprintf(names + length, sizeof(names) - length, " %s", core->name);
	}
	fatal(EXIT_PANIC, "processor: version 0x%08x is none of:%s", cpu_pvr, names);
}

void arch_platform(char *name, size_t size)
{
	snprintf(name, size, "ppc%.3s", arch_cpu.name);
}

void arch_show_cpu(struct text *text)
{
	text_printf(text, "cpu\t\t: %s\nclock\t\t: %u.%06uMHz\nrevision\t: %u.%u (pvr %04x %04x)\n", arch_cpu.name,
		    arch_cpu.clock_hz / 1000000, arch_cpu.clock_hz % 1000000, cpu_pvr >> 8 & 0xff, cpu_pvr & 0xff,
		    cpu_pvr >> 16, cpu_pvr & 0xffff);
}

u64 arch_timebase(void)
{
	u32 high, low, again;

	do {
		__asm__ volatile("mftbu %0; mftb %1; mftbu %2" : "=r"(high), "=r"(low), "=r"(again));
	} while (high != again);
	return (u64)high << 32 | low;
}

u32 arch_timebase_hz(void)
{
	return arch_cpu.timebase_hz;
}

REPLACED void arch_timer_set(u32 ticks)
{
	__asm__ volatile("mtspr %0, %1" : : "i"(SPR_DEC), "r"(MIN(ticks, 0x7fffffffu)));
}

void arch_dcache_flush(void *address, size_t size)
{
	for (vaddr_t a = (vaddr_t)address, end = a + size; a < end; a += arch_cpu.dcache_line)
		__asm__ volatile("dcbf 0, %0" : : "r"(a) : "memory");
	__asm__ volatile("sync" : : : "memory");
}

CAUSE(coherence) static inline void icache_sync(void *address, size_t size)
{
	u32 line = arch_cpu.icache_line ? arch_cpu.icache_line : 32;
	vaddr_t start = ALIGN_DOWN((vaddr_t)address, line), end = (vaddr_t)address + size;

	for (vaddr_t a = start; a < end; a += line)
		__asm__ volatile("dcbst 0, %0" : : "r"(a) : "memory");
	__asm__ volatile("sync" : : : "memory");
	for (vaddr_t a = start; a < end; a += line)
		__asm__ volatile("icbi 0, %0" : : "r"(a) : "memory");
	__asm__ volatile("sync; isync" : : : "memory");
}

static void icache_invalidate_called(void *argument)
{
	(void)argument;
	icache_invalidate();
}

/* A 750 broadcasts neither tlbie nor icbi: the other processors invalidate their whole instruction cache. */
static inline void icache_invalidate_others(void)
{
	if (SEVERAL && !arch_tlb_broadcasts())
		cpus_call(cpus_others(), icache_invalidate_called, NULL);
}

REPLACED CAUSE(coherence) void arch_icache_sync(void *address, size_t size)
{
	icache_sync(address, size);
	icache_invalidate_others();
}

void icache_invalidate(void)
{
	u32 hid0;

	__asm__ volatile("mfspr %0, %1" : "=r"(hid0) : "i"(SPR_HID0));
	__asm__ volatile("isync; mtspr %0, %1; isync; mtspr %0, %2; isync"
			 : : "i"(SPR_HID0), "r"(hid0 | HID0_ICFI), "r"(hid0) : "memory");
}
