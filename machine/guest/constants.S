/*
 * What a TLB miss costs, measured on the processor itself: the hardware constants of Dougan, Mackerras and Yodaiken,
 * "Optimizing the Idle Task and Other MMU Tricks" (OSDI 1999), sections 5, 7 and 8.
 *
 * Cycles are read from the control device, which charges nothing for it, around one access to a page (EA 0x40000000,
 * VSID 0x123, frame 0x300). Each measurement is made twice and the second one counts, so that the code that is
 * measured is in the I-cache. Results go to `results`; what is counted rather than timed is a region of interest.
 */

#define HID0   1008
#define SDR1   25
#define PVR    287
#define DMISS  976
#define RPA    982

#define CACHES 0xcc00           /* HID0: ICE, DCE, ICFI, DCFI */
#define MSR_ON 0x1030           /* ME, IR, DR */

#define DEVICE 0x80001000       /* control device, user half */
#define BEGIN  0x00
#define END    0x04
#define CYCLES 0x08

#define TABLE  0x00200000
#define PAGE   0x40000000
#define FRAME  0x00300000
#define DIRECTORY 0x00310000    /* two-level page-table tree: one entry of each level is used */
#define TREE   0x00320000
#define PTEG1  0x002048c0       /* VSID 0x123, page 0 of its segment */
#define PTEG2  0x0020b700
#define WORD0  0x80009180
#define H      0x40
#define WORD1  0x00300192       /* R, C, M, PP = 2 */
#define OTHER  0x80ffff80       /* word 0 of a PTE of another page */

/* r31 results, r30 device, r29 page, r28 physical page; r20 to r22 time */

	.macro  load register, value
	lis     \register, (\value)@h
	ori     \register, \register, (\value)@l
	.endm

/* A region of interest. Between two isync the access that marks it is counted for itself: the one that ends a region
   belongs to it. */
	.macro  begin region
	li      %r4, \region
	isync
	stw     %r4, BEGIN(%r30)
	isync
	.endm
	.macro  end region
	li      %r4, \region
	isync
	stw     %r4, END(%r30)
	isync
	.endm

	.text
	.globl  start
	.org    0x300
/* No PTE in the hash table: tells the time, as `timed` does. Later a branch to `reload`. */
data_storage:
	lwz     %r22, CYCLES(%r30)
	isync
	mfsrr0  %r21                    /* past the access */
	addi    %r21, %r21, 4
	mtsrr0  %r21
	rfi

	.org    0x1100
/* 603, load: the least that ends a miss. RPA was set beforehand. An isync before a reload, so that each begins with
   nothing under way; rfi waits for the last one as isync does. */
	isync
	mfspr   %r0, DMISS
	tlbld   %r0
	rfi

	.org    0x1200
/* 603, store: the same twice. What it costs more than the load's is the isync and the reload. */
	isync
	mfspr   %r0, DMISS
	tlbld   %r0
	isync
	mfspr   %r0, DMISS
	tlbld   %r0
	rfi

	.org    0x2000
/* The reload of a hash miss: two loads for the tree, then a search for a free slot. All are taken. */
reload:
	load    %r10, DIRECTORY
	lwz     %r10, 0(%r10)
	lwz     %r11, 0(%r10)
	load    %r10, PTEG1 - 8
	bl      search
	load    %r10, PTEG2 - 8
	bl      search
	end     8
	load    %r10, PTEG1
	stw     %r11, 4(%r10)
	load    %r4, WORD0
	stw     %r4, 0(%r10)
	sync
	rfi

/* Eight PTEs from r10 + 8 on: is there an invalid one? */
search:
	li      %r4, 8
	mtctr   %r4
1:	lwzu    %r5, 8(%r10)
	cmpwi   %r5, 0
	bdnzf   eq, 1b
	blr

/* r3 = cycles between two readings of the time, with an access to the page between them or with nothing. */
	.macro  timed name, access
	.balign 32
\name:
	isync
	lwz     %r20, CYCLES(%r30)
	isync
	.ifnb \access
	\access
	isync
	.endif
	lwz     %r22, CYCLES(%r30)
	isync
	subf    %r3, %r20, %r22
	blr
	.endm

	timed   timed_load, "lwz %r21, 0(%r29)"
	timed   timed_store, "stw %r21, 0(%r29)"
	timed   timed_nothing

	.balign 32
/* r3 = cycles from before a load without a PTE to the handler's first instruction, which reads r22. */
timed_fault:
	isync
	lwz     %r20, CYCLES(%r30)
	isync
	lwz     %r21, 0(%r29)
	isync
	subf    %r3, %r20, %r22
	blr

/* The page's lines are in the D-cache, its entry is not in the TLB, and the bus is idle. */
prepare:
	lwz     %r4, 0(%r28)
	tlbie   %r29
	sync
	li      %r4, 200
	mtctr   %r4
1:	bdnz    1b
	blr

/* The lines of both PTEGs into the D-cache. */
warm:
	load    %r4, PTEG1
	lwz     %r5, 0(%r4)
	lwz     %r5, 32(%r4)
	load    %r4, PTEG2
	lwz     %r5, 0(%r4)
	lwz     %r5, 32(%r4)
	blr

/* The lines of both PTEGs, and of the tree, out of every cache. An L2 that keeps what dcbf has flushed loses them to
   the lines that are whole megabytes away. */
flush:
	mflr    %r7
	li      %r6, 32
	load    %r4, PTEG1
	dcbf    0, %r4
	dcbf    %r6, %r4
	load    %r4, PTEG2
	dcbf    0, %r4
	dcbf    %r6, %r4
	load    %r4, DIRECTORY
	dcbf    0, %r4
	load    %r4, TREE
	dcbf    0, %r4
	lis     %r8, 0x10
	load    %r4, DIRECTORY
	bl      others
	load    %r4, TREE
	bl      others
	bl      groups
	sync
	mtlr    %r7
	blr

/* The lines of both PTEGs into the L2, and out of the D-cache, whose sets are no further apart than 8 KB. */
second:
	mflr    %r9
	bl      flush
	bl      warm
	li      %r8, 0x2000
	bl      groups
	sync
	mtlr    %r9
	blr

/* Lines in the places of all lines of both PTEGs, r8 apart. */
groups:
	mflr    %r10
	load    %r4, PTEG1
	bl      others
	load    %r4, PTEG1 + 32
	bl      others
	load    %r4, PTEG2
	bl      others
	load    %r4, PTEG2 + 32
	bl      others
	mtlr    %r10
	blr

/* Eight lines that are r8, twice r8, ... past r4: as many as a set of any cache here has ways. */
others:
	li      %r5, 8
	mtctr   %r5
1:	lwzux   %r5, %r4, %r8
	bdnz    1b
	blr

/* Word 0 of the last of the sixteen PTEs of the search. */
	.macro  last_pte word0
	load    %r4, PTEG2 + 56
	load    %r5, \word0
	load    %r6, WORD1
	stw     %r6, 4(%r4)
	stw     %r5, 0(%r4)
	sync
	.endm

/* Makes a measurement twice, with `before` to prepare it, and stores the second result. */
	.macro  measure number, before, what
	li      %r26, 2
1:	bl      \before
	bl      prepare_again\@
	begin   \number
	bl      \what
	end     \number
	addi    %r26, %r26, -1
	cmpwi   %r26, 0
	bgt     1b
	stw     %r3, 4 * \number(%r31)
	b       2f
prepare_again\@:
	b       prepare
2:
	.endm

nothing:
	blr

/* The entry is in the TLB. */
hit:
	mflr    %r7
	bl      prepare
	mtlr    %r7
	lwz     %r4, 0(%r29)
	stw     %r4, 0(%r29)
	blr

start:
	load    %r3, CACHES
	mtspr   HID0, %r3
	isync
	load    %r3, 0x1fff             /* RAM, by IBAT 0 and DBAT 0 */
	li      %r4, 0x12
	mtspr   529, %r4
	mtspr   528, %r3
	mtspr   537, %r4
	mtspr   536, %r3
	load    %r3, 0x80001fff         /* devices, by DBAT 1 */
	load    %r4, 0x8000002a
	mtspr   539, %r4
	mtspr   538, %r3
	load    %r3, TABLE
	mtspr   SDR1, %r3
	load    %r3, 0x123
	mtsr    4, %r3
	load    %r3, MSR_ON
	mtmsr   %r3
	isync
	load    %r31, results
	load    %r30, DEVICE
	load    %r29, PAGE
	load    %r28, FRAME

	/* An empty region: the access that marking it makes. */
	begin   9
	end     9

	mfspr   %r3, PVR
	srwi    %r3, %r3, 16
	cmpwi   %r3, 3
	beq     software
	cmpwi   %r3, 6
	beq     software
	cmpwi   %r3, 7
	beq     software

/* 604, 750: the hardware's search. */
	last_pte WORD0 | H
	/* 0: the entry is in the TLB */
	li      %r26, 2
1:	bl      hit
	bl      timed_load
	addi    %r26, %r26, -1
	cmpwi   %r26, 0
	bgt     1b
	stw     %r3, 0(%r31)
	/* 1: the PTE is the last of sixteen, the table in the D-cache; 2: the table in memory */
	measure 1, warm, timed_load
	measure 2, flush, timed_load
	/* 10: the table in the L2, of a machine that has one */
	measure 10, second, timed_load
	/* 3: there is no PTE, the table in the D-cache */
	last_pte 0
	measure 3, warm, timed_fault
	/* 4: nothing */
	measure 4, nothing, timed_nothing

	/* Region 7: looking for one PTE to flush that is in neither PTEG. */
	bl      fill
	begin   7
	load    %r10, PTEG1 - 8
	bl      find
	load    %r10, PTEG2 - 8
	bl      find
	end     7

	/* Region 8: bringing in one PTE; it ends in the handler, before the PTE is written. */
	load    %r4, data_storage
	load    %r5, 0x48000000 + (reload - data_storage)
	stw     %r5, 0(%r4)
	dcbst   0, %r4
	sync
	icbi    0, %r4
	sync
	isync
	load    %r4, DIRECTORY
	load    %r5, TREE
	stw     %r5, 0(%r4)
	load    %r6, WORD1
	stw     %r6, 0(%r5)
	bl      flush
	bl      prepare
	begin   8
	lwz     %r21, 0(%r29)
	b       done

/* 603: software reload. */
software:
	load    %r3, WORD1
	mtspr   RPA, %r3
	li      %r26, 2
1:	bl      hit
	bl      timed_load
	addi    %r26, %r26, -1
	cmpwi   %r26, 0
	bgt     1b
	stw     %r3, 0(%r31)
	li      %r26, 2
1:	bl      hit
	bl      timed_store
	addi    %r26, %r26, -1
	cmpwi   %r26, 0
	bgt     1b
	stw     %r3, 16(%r31)
	measure 5, nothing, timed_load
	measure 6, nothing, timed_store

done:
	li      %r3, 0
	lis     %r4, 0x8000
	stw     %r3, 0xf08(%r4)         /* power off */
	b       .

/* Every slot of both PTEGs holds another page's PTE. */
fill:
	load    %r5, OTHER
	load    %r4, PTEG1 - 8
	li      %r6, 8
	mtctr   %r6
1:	stwu    %r5, 8(%r4)
	bdnz    1b
	load    %r4, PTEG2 - 8
	mtctr   %r6
1:	stwu    %r5, 8(%r4)
	bdnz    1b
	sync
	blr

/* Eight PTEs from r10 + 8 on: is the page's one among them? */
find:
	load    %r11, WORD0
	li      %r4, 8
	mtctr   %r4
1:	lwzu    %r5, 8(%r10)
	cmpw    %r5, %r11
	bdnzf   eq, 1b
	blr

	.balign 32
	.globl  results
results:
	.space  44
