/* The 603: software reloads the TLB, by way of a hash table of its own or straight from the tree. */
#include <arch.h>
#include <arch/hash.h>
#include <arch/image.h>
#include <arch/mmu.h>
#include <arch/pte.h>
#include <arch/reload.h>
#include <arch/soft6xx.h>
#include <context.h>
#include <frame.h>
#include <lib.h>
#include <mm.h>
#include <pagetable.h>

/* reload.S */
bool soft_load_data(u32 address, u32 pte, u32 srr1, u32 compare);
bool soft_load_instruction(u32 address, u32 pte, u32 srr1, u32 compare);
void exception_soft_miss(struct regs *regs);
void exception_fault(struct regs *regs, u32 address, u32 access);

/* What reload.S loads when the miss at `address` comes again; pte 0: nothing. */
struct { u32 address, pte; } soft_prepared;


const struct soft_lookup *soft_lookup = &soft_lookup_emulate;

static u32 tree_lookup(u32 vsid, u32 address)
{
	(void)vsid;
	return context_active ? pagetable_read(context_active->root, address) : 0;
}

/* As the 604's hardware does: both groups are searched; then the tree, whose entry goes into the table. */
static u32 emulated_lookup(u32 vsid, u32 address)
{
	const struct hpte *entry = hash_find(vsid, address);
	u32 pte;

	if (entry)
		return entry->word1;
	pte = tree_lookup(vsid, address);
	if (pte & PTE_VALID)
		hash_insert(vsid, address, pte);
	return pte & PTE_HARDWARE;
}

static void emulated_flush(struct mm *mm, u32 vsid, u32 address)
{
	hash_remove(mm, vsid, address);
}

static void no_flush(struct mm *mm, u32 vsid, u32 address)
{
	(void)mm;
	(void)vsid;
	(void)address;
}

const struct soft_lookup soft_lookup_emulate = { emulated_lookup, emulated_flush };
const struct soft_lookup soft_lookup_bypass = { tree_lookup, no_flush };

CAUSE(reload) void exception_soft_miss(struct regs *regs)
{
	u32 address = regs->dar;
	u32 access = regs->trap == 0x1000 ? MM_EXECUTE : regs->trap == 0x1200 ? MM_WRITE : MM_READ;
	u32 need = access == MM_WRITE ? PTE_VALID | PTE_CHANGED : PTE_VALID;
	u32 pte = 0;
	bool loaded;

	reloads_c++;
	if (context_active && address < KERNEL_BASE)
		pte = soft_lookup->find(context_vsid(context_active, address), address);
	if ((pte & need) != need) {
		exception_fault(regs, address, access);
		return;
	}
	if (access == MM_EXECUTE)
		loaded = soft_load_instruction(address, pte, regs->dsisr, regs->orig_gpr3);
	else
		loaded = soft_load_data(address, pte, regs->dsisr, regs->orig_gpr3);
	if (!loaded) {
		soft_prepared.address = address;
		soft_prepared.pte = pte;
	}
}

/* A page fault has its own exception here: what comes as DSI or ISI is none of a reload's. */
static bool reload(u32 address, u32 access)
{
	(void)address;
	(void)access;
	return false;
}

static void page_installed(struct mm *mm, u32 address, u32 pte)
{
	(void)mm;
	(void)address;
	(void)pte;
}

CAUSE(flush) static void page_flush(struct mm *mm, u32 vsid, u32 address)
{
	soft_prepared.pte = 0;
	soft_lookup->flush(mm, vsid, address);
	tlb_invalidate_page(address);
}

static void flush_all(void)
{
	soft_prepared.pte = 0;
	hash_clear();
	tlb_invalidate_all();
}

const struct mmu_backend soft6xx_backend = {
	.name = "soft6xx",
	.software_reload = true,
	.init = hash_init,
	.reload = reload,
	.page_installed = page_installed,
	.page_flush = page_flush,
	.flush_all = flush_all,
	.check = hash_check,
};
