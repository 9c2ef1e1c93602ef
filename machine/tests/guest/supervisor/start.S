/*
 * Exception vectors, entry, and the access probe. The image is a ROM at 0xfff00000: MSR[IP] = 1 after reset.
 *
 * An exception ends the probe that runs: its registers go into the record in RAM and `probe` returns.
 */

#define RECORD    0x4000          /* vector, SRR0, SRR1, DSISR, DAR, MSR in the handler */
#define STACK_TOP 0x20000

	.macro  vector offset
	.org    \offset
	mtsprg  0, %r5
	li      %r5, \offset
	b       caught
	.endm

	.section .vectors, "ax"
	.org    0x100
	b       reset
	vector  0x200
	vector  0x300
	vector  0x400
	vector  0x500
	vector  0x600
	vector  0x700
	vector  0x800
	vector  0x900
	vector  0xc00
	vector  0xd00
	.org    0x1000
	b       reload_fetch
	.org    0x1100
	b       reload_load
	.org    0x1200
	b       reload_store
	vector  0x1300
	vector  0x1400
	.org    0x1600

	.globl  caught
caught:
	mtsprg  1, %r6
	li      %r6, RECORD
	stw     %r5, 0(%r6)
	mfsrr0  %r5
	stw     %r5, 4(%r6)
	mfsrr1  %r5
	stw     %r5, 8(%r6)
	mfdsisr %r5
	stw     %r5, 12(%r6)
	mfdar   %r5
	stw     %r5, 16(%r6)
	mfmsr   %r5
	stw     %r5, 20(%r6)
	lwz     %r1, 24(%r6)
	lwz     %r0, 20(%r1)
	mtlr    %r0
	lmw     %r13, 32(%r1)
	addi    %r1, %r1, 128
	blr

reset:
	lis     %r1, STACK_TOP@h
	addi    %r1, %r1, -64
	li      %r0, 0
	stw     %r0, 0(%r1)
	bl      main
1:	b       1b

/*
 * uint32_t probe(const void *code, uint32_t address, uint32_t msr, uint32_t value)
 *
 * Runs `code` with the address in r4 and the value in r3 under `msr`, until it takes an exception (the
 * operations below end by `sc`). Returns r3 at that moment.
 */
	.text
	.globl  probe
probe:
	stwu    %r1, -128(%r1)
	mflr    %r0
	stw     %r0, 20(%r1)
	stmw    %r13, 32(%r1)
	li      %r7, RECORD
	stw     %r1, 24(%r7)
	li      %r0, 0
	stw     %r0, 0(%r7)
	mtsrr0  %r3
	mtsrr1  %r5
	mr      %r3, %r6
	isync
	rfi

	.macro  operation name, text:vararg
	.globl  \name
\name:	\text
	sc
	.endm

	operation op_nothing,    nop
	operation op_load,       lwz %r3, 0(%r4)
	operation op_load_byte,  lbz %r3, 0(%r4)
	operation op_load_multiple, lmw %r28, 0(%r4)
	operation op_store,      stw %r3, 0(%r4)
	operation op_store_byte, stb %r3, 0(%r4)
	operation op_reserve,    lwarx %r3, 0, %r4
	operation op_dcbz,       dcbz 0, %r4
	operation op_dcbst,      dcbst 0, %r4
	operation op_dcbt,       dcbt 0, %r4
	operation op_icbi,       icbi 0, %r4
	operation op_illegal,    .long 0
	operation op_mfmsr,      mfmsr %r3
	operation op_mtmsr,      mtmsr %r3
	operation op_mfsr,       mfsr %r3, 3
	operation op_mfsprg,     mfsprg %r3, 3
	operation op_trap,       trap
	operation op_no_trap,    tweqi %r4, -1
	operation op_float,      fmr %f1, %f2
	operation op_tlbie,      tlbie %r4
	operation op_rfi,        rfi

	.globl  op_conditional
op_conditional:
	lwarx   %r5, 0, %r4
	stwcx.  %r3, 0, %r4
	mfcr    %r3
	sc

	.globl  op_lost_reservation
op_lost_reservation:
	lwarx   %r5, 0, %r4
	addi    %r6, %r4, 64
	stwcx.  %r3, 0, %r6
	stwcx.  %r3, 0, %r4
	mfcr    %r3
	sc

	.globl  op_go
op_go:	mtctr   %r4
	bctr

	.globl  op_spin
op_spin: b      op_spin
