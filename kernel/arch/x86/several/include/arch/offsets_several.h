/* What assembly for several processors needs beside the rest of offsets.c. */
#ifndef ARCH_OFFSETS_SEVERAL_H
#define ARCH_OFFSETS_SEVERAL_H
#include <irq.h>
#include <shootdown.h>
#include <smp.h>

#define OFFSETS_SEVERAL do { \
	OFFSET(CPU_IPIS_FLUSH, struct cpu, ipis[IPI_FLUSH]); \
	OFFSET(CPU_FLUSH_BIT, struct cpu, arch.flush_bit); \
	OFFSET(CPU_FLUSHES_SENT, struct cpu, arch.flushes_sent); \
	OFFSET(FLUSH_UNANSWERED, struct flush_words, unanswered); \
	OFFSET(FLUSH_START, struct flush_words, start); \
	OFFSET(FLUSH_END, struct flush_words, end); \
	VALUE(APIC_VIRTUAL, APIC_VIRTUAL);; \
} while (0)

#endif
