/* Identifying the processor, its clocks and caches. */
#include <arch.h>
#include <arch/mmu.h>
#include <arch/reg8xx.h>
#include <lib.h>

struct arch_cpu arch_cpu;
bool cpu_locks_caches;

/* AT_HWCAP (Linux uapi, powerpc asm/cputable.h). */
#define HWCAP     0x80000000u           /* PPC_FEATURE_32 */
#define HWCAP_FPU (HWCAP | ARCH_HWCAP_FPU)

/* Processor versions (PVR's upper half; each processor's user's manual, chapter 2). */
static const struct {
	u16 version;
	const char *name;
	const struct ppc_backend *backend;
	u32 hwcap;
	bool locks_caches;
} processors[] = {
	{ 0x0003, "603", &soft6xx_backend, HWCAP_FPU, true },
	{ 0x0006, "603e", &soft6xx_backend, HWCAP_FPU, true },
	{ 0x0007, "603ev", &soft6xx_backend, HWCAP_FPU, true },
	{ 0x0004, "604", &hash32_backend, HWCAP_FPU, true },
	{ 0x0009, "604e", &hash32_backend, HWCAP_FPU, true },
	{ 0x000a, "604ev", &hash32_backend, HWCAP_FPU, true },
	{ 0x0008, "750", &hash32_backend, HWCAP_FPU, true },
	{ PVR_8XX, "8xx", &soft8xx_backend, HWCAP, false },
};

const struct ppc_backend *cpu_identify(void)
{
	u32 pvr;

	__asm__ volatile("mfspr %0, %1" : "=r"(pvr) : "i"(SPR_PVR));
	arch_cpu.pvr = pvr;
	for (size_t i = 0; i < ARRAY_SIZE(processors); i++) {
		if (processors[i].version == pvr >> 16) {
			arch_cpu.name = processors[i].name;
			arch_cpu.hwcap = processors[i].hwcap;
			cpu_locks_caches = processors[i].locks_caches;
			return processors[i].backend;
		}
	}
	fatal(EXIT_PANIC, "processor version 0x%08x is none of 603, 603e, 604, 604e, 750, 8xx", pvr);
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

void arch_decrementer_set(u32 ticks)
{
	__asm__ volatile("mtspr %0, %1" : : "i"(SPR_DEC), "r"(MIN(ticks, 0x7fffffffu)));
}

void arch_dcache_flush(void *address, size_t size)
{
	for (u32 a = (u32)address, end = a + size; a < end; a += arch_cpu.dcache_line)
		__asm__ volatile("dcbf 0, %0" : : "r"(a) : "memory");
	__asm__ volatile("sync" : : : "memory");
}

CAUSE(coherence) void arch_icache_sync(void *address, size_t size)
{
	u32 line = arch_cpu.icache_line ? arch_cpu.icache_line : 32;
	u32 start = ALIGN_DOWN((u32)address, line), end = (u32)address + size;

	for (u32 a = start; a < end; a += line)
		__asm__ volatile("dcbst 0, %0" : : "r"(a) : "memory");
	__asm__ volatile("sync" : : : "memory");
	for (u32 a = start; a < end; a += line)
		__asm__ volatile("icbi 0, %0" : : "r"(a) : "memory");
	__asm__ volatile("sync; isync" : : : "memory");
}
