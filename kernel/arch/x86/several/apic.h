/* The local APIC: its vectors and registers, for C and assembly (Intel manual, volume 3A, chapter 10). */
#ifndef ARCH_X86_APIC_H
#define ARCH_X86_APIC_H

/*
 * Of two vectors the one with the greater upper four bits is served first. Interrupts between processors have a class,
 * and the short handlers of flush requests have the class above, as on OpenBSD.
 */
#define VECTOR_TIMER     0xd0
#define VECTOR_IPI       0xe0   /* plus the kind */
#define VECTOR_FLUSH     0xf0   /* plus what is to be flushed: */
#define FLUSH_ALL   0
#define FLUSH_PAGE  1
#define FLUSH_RANGE 2
#define VECTOR_SPURIOUS  0xff   /* its lower four bits must be ones on a P6 */

#define APIC_PHYSICAL 0xfee00000
#define APIC_END      0x0b0

#endif
