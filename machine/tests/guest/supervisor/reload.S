/*
 * The 603's TLB reload from the hash table, plainly: search both PTEGs, set R (and C for a store that is
 * permitted), load the entry. A search without a match becomes the storage exception of the other cores.
 * r0 to r3 are the temporary registers here.
 */

#define DMISS 976
#define DCMP  977
#define HASH1 978
#define HASH2 979
#define IMISS 980
#define ICMP  981
#define RPA   982

#define SRR1_KEY 0x0008

/* Finds the PTE: r2 = its address, CR0[EQ] set; else CR0[EQ] clear. Uses r0, r1, r3; CTR is in r0. */
	.macro  search compare
	mfctr   %r0
	mfspr   %r3, \compare
	mfspr   %r2, HASH1
	li      %r1, 8
	mtctr   %r1
	addi    %r2, %r2, -8
1:	lwzu    %r1, 8(%r2)
	cmpw    %r1, %r3
	bdnzf   eq, 1b
	beq     2f
	ori     %r3, %r3, 0x40
	mfspr   %r2, HASH2
	li      %r1, 8
	mtctr   %r1
	addi    %r2, %r2, -8
1:	lwzu    %r1, 8(%r2)
	cmpw    %r1, %r3
	bdnzf   eq, 1b
2:	mtctr   %r0
	.endm

/* Back to the access. The upper half of SRR1 is cleared first: hardware doesn't ask for that, but QEMU 7.2
   takes the store flag there for MSR[ILE]. CR0 comes back from it before. */
	.macro  resume
	mfsrr1  %r3
	mtcrf   0x80, %r3
	clrlwi  %r3, %r3, 16
	mtsrr1  %r3
	rfi
	.endm

	.text
	.globl  reload_fetch
reload_fetch:
	search  ICMP
	bne     no_fetch
	lwz     %r1, 4(%r2)
	andi.   %r3, %r1, 8             /* G */
	bne     guarded
	mfsrr1  %r3                     /* PP = 0 with key 1 may not be fetched */
	andis.  %r3, %r3, SRR1_KEY
	beq     1f
	andi.   %r3, %r1, 3
	beq     fetch_protected
1:	ori     %r1, %r1, 0x100
	mtspr   RPA, %r1
	srwi    %r1, %r1, 8
	stb     %r1, 6(%r2)
	mfspr   %r0, IMISS
	tlbli   %r0
	resume
guarded:
	lis     %r1, 0x1000
	b       isi
fetch_protected:
	lis     %r1, 0x0800
	b       isi
no_fetch:
	lis     %r1, 0x4000
isi:
	mfsrr1  %r3
	mtcrf   0x80, %r3
	clrlwi  %r2, %r3, 16
	or      %r2, %r2, %r1
	mtsrr1  %r2
	mfmsr   %r0
	rlwinm  %r0, %r0, 0, 15, 13     /* TGPR off */
	mtmsr   %r0
	isync
	mtsprg  0, %r5
	li      %r5, 0x400
	b       caught

	.globl  reload_load
reload_load:
	search  DCMP
	bne     no_load
	lwz     %r1, 4(%r2)
	mfsrr1  %r3
	andis.  %r3, %r3, SRR1_KEY
	beq     1f
	andi.   %r3, %r1, 3
	beq     load_protected
1:	ori     %r1, %r1, 0x100
	mtspr   RPA, %r1
	srwi    %r1, %r1, 8
	stb     %r1, 6(%r2)
	mfspr   %r0, DMISS
	tlbld   %r0
	resume
load_protected:
	lis     %r1, 0x0800
	b       dsi
no_load:
	lis     %r1, 0x4000
dsi:
	mtdsisr %r1
	mfspr   %r2, DMISS
	mtdar   %r2
	mfsrr1  %r3
	mtcrf   0x80, %r3
	clrlwi  %r3, %r3, 16
	mtsrr1  %r3
	mfmsr   %r0
	rlwinm  %r0, %r0, 0, 15, 13
	mtmsr   %r0
	isync
	mtsprg  0, %r5
	li      %r5, 0x300
	b       caught

	.globl  reload_store
reload_store:
	search  DCMP
	bne     no_store
	lwz     %r1, 4(%r2)
	andi.   %r3, %r1, 3
	cmpwi   %r3, 3
	beq     store_protected         /* PP = 3 */
	cmpwi   %r3, 2
	beq     1f                      /* PP = 2 */
	mfsrr1  %r3
	andis.  %r3, %r3, SRR1_KEY
	bne     store_protected         /* PP = 0 or 1 with key 1 */
1:	ori     %r1, %r1, 0x180
	mtspr   RPA, %r1
	sth     %r1, 6(%r2)
	mfspr   %r0, DMISS
	tlbld   %r0
	resume
store_protected:
	lis     %r1, 0x0a00
	b       dsi
no_store:
	lis     %r1, 0x4200
	b       dsi
