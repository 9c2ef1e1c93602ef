/* The segments of the global descriptor table, and the bits of flags and control registers, for C and assembly. */
#ifndef ARCH_SEGMENT_H
#define ARCH_SEGMENT_H

#define KERNEL_CS 0x08
#define KERNEL_DS 0x10
#define USER_CS   0x1b          /* with privilege 3 */
#define USER_DS   0x23
#define SEGMENT_TSS 5           /* number in the table of segments */
#define SEGMENT_TLS 6           /* the first of three for threads, as on Linux (x86 asm/segment.h) */
#define SEGMENTS_TLS 3
#define SEGMENT_LDT (SEGMENT_TLS + SEGMENTS_TLS)        /* of the table that modify_ldt makes */
#define SEGMENTS  (SEGMENT_LDT + 1)

#define EFLAGS_FIXED 0x00000002 /* always 1 */
#define EFLAGS_TF    0x00000100
#define EFLAGS_IF    0x00000200
#define EFLAGS_DF    0x00000400
#define EFLAGS_RF    0x00010000
#define EFLAGS_AC    0x00040000
#define EFLAGS_ID    0x00200000
#define EFLAGS_ARITHMETIC 0x000008d5    /* CF PF AF ZF SF OF */
/* What a program may set, by a signal's return or through its tracer. */
#define EFLAGS_FROM_USER (EFLAGS_ARITHMETIC | EFLAGS_TF | EFLAGS_DF | EFLAGS_RF | EFLAGS_AC)

#define CR0_PE 0x00000001
#define CR0_MP 0x00000002
#define CR0_TS 0x00000008
#define CR0_NE 0x00000020
#define CR0_WP 0x00010000
#define CR0_NW 0x20000000
#define CR0_CD 0x40000000
#define CR0_PG 0x80000000
#define CR4_PSE 0x10
#define CR4_PGE 0x80

#define KERNEL_BASE_ASM 0xc0000000      /* virtual address of physical 0; KERNEL_BASE in C */

#endif
