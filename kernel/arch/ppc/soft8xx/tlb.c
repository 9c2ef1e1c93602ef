/*
 * Reading the MPC8xx's TLBs by their debug registers (MPC860 manual, 9.8.3), for /proc and for the invariant checker.
 */
#include <arch.h>
#include <arch/mmu.h>
#include <arch/pte.h>
#include <arch/reg8xx.h>
#include <arch/soft8xx.h>
#include <arch/vsid.h>
#include <errno.h>
#include <lib.h>
#include <pagetable.h>
#include <text.h>

/* registers.S */
void soft8xx_read(u32 index, u32 instruction, u32 out_pa);

struct entry {
	u32 cam, ram0, ram1;
	vaddr_t address, bytes, pa;
	u32 asid;
	bool shared;            /* matches in every address space */
	bool page_valid;        /* else an access that finds the entry is a TLB error */
	bool user, write;       /* programs may read and execute; write */
};

#define CAM_SUBPAGES 0x00000f00 /* all bits for data; for instructions the last four */

static u32 page_bytes(u32 code)
{
	return code == 7 ? 0x800000 : code == 3 ? 0x80000 : code == 1 ? 0x4000 : 0x1000;
}

struct shown {
	u32 cam, ram0, ram1;
};

static void read_shown(u32 number, bool instruction, struct shown *out)
{
	static struct shown shown;      /* at one physical address */
	u32 msr = irq_save();

	soft8xx_read(number << CTR_INDEX_SHIFT, instruction, kva_pa(&shown));
	*out = shown;
	irq_restore(msr);
}

/* Decodes an entry. False: it translates nothing. */
static bool tlb_entry_decode(const struct shown *shown, bool instruction, struct entry *e)
{
	e->cam = shown->cam;
	e->ram0 = shown->ram0;
	e->ram1 = shown->ram1;
	e->bytes = page_bytes((instruction ? e->cam >> 9 : e->cam >> 5) & 7);
	e->address = e->cam & ~(e->bytes - 1);
	e->pa = e->ram0 & ~(e->bytes - 1);
	e->shared = e->cam & 0x10;
	e->asid = (instruction ? e->cam >> 5 : e->cam) & 0xf;
	e->page_valid = e->ram1 & (instruction ? 0x2 : 0x2000);
	e->user = e->ram1 & (instruction ? 0x3c : 0xaa);
	e->write = !instruction && e->ram1 & 0x55 && e->ram1 & 0x4000;
	return e->cam & (instruction ? 0xf : CAM_SUBPAGES);
}

static bool tlb_entry_read(u32 number, bool instruction, struct entry *e)
{
	struct shown shown;

	read_shown(number, instruction, &shown);
	return tlb_entry_decode(&shown, instruction, e);
}

static u32 tlb_first_reserved(bool instruction)
{
	u32 control;

	if (instruction)
		__asm__ volatile("mfspr %0, %1" : "=r"(control) : "i"(SPR_MI_CTR));
	else
		__asm__ volatile("mfspr %0, %1" : "=r"(control) : "i"(SPR_MD_CTR));
	return control & CTR_RSV4I ? TLB_RESERVED : TLB_ENTRIES_8XX;
}

/* The tree of an entry's address space; NULL: none. */
static const struct root_entry *tlb_entry_root(const struct entry *e)
{
	u32 segment;

	return e->shared ? kernel_root : context_find(16 * e->asid + (e->address >> 28), &segment);
}

static void tlb_entry_check(u32 number, bool instruction, vaddr_t address, check_bad *bad)
{
	struct entry e;
	const struct root_entry *root;
	u32 pte;

	if (!tlb_entry_read(number, instruction, &e) || address - e.address >= e.bytes || !e.page_valid)
		return;
	root = tlb_entry_root(&e);
	if (!root)
		return;         /* its number is unused until both TLBs have been emptied */
	pte = pagetable_read(root, address);
	if (!(pte & PTE_VALID))
		bad("the TLB maps a page that the tree does not", e.cam, address, e.ram0);
	else if ((pte & PTE_RPN) != e.pa + ((address - e.address) & PAGE_MASK) ||
		 e.user != ((pte & PTE_PP) != PP_KERNEL) || (e.write && (pte & PTE_PP) != PP_USER_RW) ||
		 (instruction && fetch_withheld && e.user && !pte_fetchable(pte)) ||
		 (e.shared != (address >= KERNEL_BASE)))
		bad("TLB and tree differ", e.cam, address, e.ram0);
}

/* Of a large page, it checks the first 4 KB. */
void soft8xx_check(check_bad *bad)
{
	struct entry e;

	for (u32 instruction = 0; instruction < 2; instruction++)
		for (u32 n = 0; n < TLB_ENTRIES_8XX; n++)
			if (tlb_entry_read(n, instruction, &e))
				tlb_entry_check(n, instruction, e.address, bad);
}

/* The TLBs are fully associative: any entry may map the page. */
void soft8xx_check_page(const struct mm *mm, vaddr_t address, check_bad *bad)
{
	(void)mm;
	for (u32 instruction = 0; instruction < 2; instruction++)
		for (u32 n = 0; n < TLB_ENTRIES_8XX; n++)
			tlb_entry_check(n, instruction, address, bad);
}

/*
 * Lines "I 27 c0012000 4 KB -> 00012000 kernel": index, address, size, frame, owner. All entries are read first,
 * because writing text changes them.
 */
void soft8xx_show(struct text *text)
{
	static struct shown all[2][TLB_ENTRIES_8XX];

	for (u32 instruction = 0; instruction < 2; instruction++)
		for (u32 n = 0; n < TLB_ENTRIES_8XX; n++)
			read_shown(n, instruction, &all[instruction][n]);
	for (u32 instruction = 2; instruction-- > 0;) {
		u32 first_pinned = tlb_first_reserved(instruction);

		for (u32 n = 0; n < TLB_ENTRIES_8XX; n++) {
			struct entry e;

			if (!tlb_entry_decode(&all[instruction][n], instruction, &e))
				continue;
			text_printf(text, "%c %2u %08x %u KB -> %08x ", instruction ? 'I' : 'D', n, e.address,
				    e.bytes >> 10, e.pa);
			if (e.shared)
				text_puts(text, "kernel");
			else
				text_printf(text, "user %u", e.asid);
			text_printf(text, "%s%s%s\n", e.write ? " writable" : "", e.page_valid ? "" : " invalid",
				    n >= first_pinned ? " pinned" : "");
		}
	}
}

/* Any write invalidates all entries that are not pinned. */
int soft8xx_empty(const char *words, size_t size)
{
	(void)words;
	(void)size;
	mmu->flush_all();
	return 0;
}
