/* Identifying the processor. */
#include <arch.h>
#include <lib.h>
#include <mmu.h>
#include <sched.h>
#include <text.h>

#include "internal.h"

struct arch_cpu arch_cpu;
u32 cpu_features;
bool idle_caches_locked;        /* never (policy idle.cache) */

static u32 cpu_family, cpu_model, cpu_stepping;
static char cpu_vendor[13] = "";

struct cpuid {
	u32 eax, ebx, ecx, edx;
};

static struct cpuid read_cpuid(u32 leaf)
{
	struct cpuid out;

	__asm__ volatile("cpuid" : "=a"(out.eax), "=b"(out.ebx), "=c"(out.ecx), "=d"(out.edx) : "0"(leaf), "2"(0));
	return out;
}

/* CPUID is there if EFLAGS.ID can be changed (Intel manual, volume 1, 19.1). */
static bool has_cpuid(void)
{
	u32 before, after;

	__asm__ volatile("pushfl; popl %0; movl %0, %1; xorl %2, %1; pushl %1; popfl; pushfl; popl %1; pushl %0; popfl"
			 : "=&r"(before), "=&r"(after) : "i"(EFLAGS_ID) : "cc");
	return (before ^ after) & EFLAGS_ID;
}

void cpu_identify(void)
{
	static const char *const names[] = { [4] = "i486", [5] = "Pentium", [6] = "P6" };

	cpu_family = 4;
	arch_cpu.dcache_line = arch_cpu.icache_line = 16;
	if (has_cpuid()) {
		struct cpuid most = read_cpuid(0), version = read_cpuid(1);

		memcpy(cpu_vendor, &most.ebx, 4);
		memcpy(cpu_vendor + 4, &most.edx, 4);
		memcpy(cpu_vendor + 8, &most.ecx, 4);
		cpu_family = version.eax >> 8 & 15;
		cpu_model = version.eax >> 4 & 15;
		cpu_stepping = version.eax & 15;
		cpu_features = version.edx;
	}
	if (cpu_family > 4)
		arch_cpu.dcache_line = arch_cpu.icache_line = 32;
	arch_cpu.name = cpu_family < ARRAY_SIZE(names) && names[cpu_family] ? names[cpu_family] : "x86";
	arch_cpu.hwcap = cpu_features;
	if (cpu_features & CPU_PGE)
		cr4_write(cr4_read() | CR4_PGE);
}

void arch_platform(char *name, size_t size)
{
	snprintf(name, size, "i%u86", MIN(cpu_family, 6u));
}

void arch_show_cpu(struct text *text)
{
	static const char *const flags[32] = {
		[0] = "fpu", [1] = "vme", [2] = "de", [3] = "pse", [4] = "tsc", [5] = "msr", [6] = "pae", [7] = "mce",
		[8] = "cx8", [9] = "apic", [11] = "sep", [12] = "mtrr", [13] = "pge", [14] = "mca", [15] = "cmov",
	};

	text_printf(text, "vendor_id\t: %s\ncpu family\t: %u\nmodel\t\t: %u\nmodel name\t: %s\nstepping\t: %u\n",
		    cpu_vendor[0] ? cpu_vendor : "unknown", cpu_family, cpu_model, arch_cpu.name, cpu_stepping);
	text_printf(text, "cpu MHz\t\t: %u.%03u\nfpu\t\t: yes\nwp\t\t: yes\nflags\t\t:", arch_cpu.clock_hz / 1000000,
		    arch_cpu.clock_hz / 1000 % 1000);
	for (unsigned i = 0; i < 32; i++)
		if (cpu_features >> i & 1 && flags[i])
			text_printf(text, " %s", flags[i]);
	text_puts(text, "\n");
}

/* Fetches see what was stored, by any address. */
REPLACED void arch_icache_sync(void *address, size_t size)
{
	(void)address;
	(void)size;
}

/* Devices access no memory. */
void arch_dcache_flush(void *address, size_t size)
{
	(void)address;
	(void)size;
}

/* sti takes effect after hlt: an interrupt that waits already ends it. */
void arch_idle(void)
{
	__asm__ volatile("sti; hlt; cli" : : : "memory");
}
