/* What assembly for several processors needs beside the rest of offsets.c. */
#ifndef ARCH_OFFSETS_SEVERAL_H
#define ARCH_OFFSETS_SEVERAL_H
#include <irq.h>
#include <shootdown.h>
#include <smp.h>

#define OFFSETS_SEVERAL do { \
	OFFSET(CPU_FLUSH_SAVED, struct cpu, arch.flush.saved); \
	OFFSET(CPU_FLUSH_WAIT, struct cpu, arch.flush.wait); \
	OFFSET(CPU_FLUSH_BIT, struct cpu, arch.flush.bit); \
	OFFSET(CPU_FLUSH_VECTOR, struct cpu, arch.flush.vector); \
	OFFSET(CPU_IPIS_FLUSH, struct cpu, ipis[IPI_FLUSH]); \
	OFFSET(FLUSH_UNANSWERED, struct flush_words, unanswered); \
	OFFSET(FLUSH_START, struct flush_words, start); \
	OFFSET(FLUSH_END, struct flush_words, end); \
	VALUE(OPENPIC_REGISTERS, OPENPIC_VIRTUAL + OPENPIC_ACKNOWLEDGE); \
	VALUE(OPENPIC_FINISH, OPENPIC_END - OPENPIC_ACKNOWLEDGE); \
	VALUE(OPENPIC_VECTOR_FLUSH, OPENPIC_VECTOR_IPI + IPI_FLUSH); \
	OFFSET(LOCK_SERVING, struct kernel_lock, serving); \
	OFFSET(LOCK_HOLDER, struct kernel_lock, holder); \
	OFFSET(LOCK_TIMES, struct spinlock, times); \
	OFFSET(LOCK_CONTENDED, struct spinlock, contended); \
	OFFSET(LOCK_WAITED, struct spinlock, waited);; \
} while (0)

#endif
