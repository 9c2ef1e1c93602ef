/* Checks the hash table for the invariant checker: every live entry must agree with the tree. */
#include <arch.h>
#include <arch/hash.h>
#include <arch/mmu.h>
#include <arch/pte.h>
#include <arch/vsid.h>
#include <lib.h>
#include <pagetable.h>

/* Reads both words of an entry. Any access of the kernel may miss, and a reload may replace the entry in between. */
static struct hpte read_entry(const volatile struct hpte *entry)
{
	struct hpte seen;

	do {
		seen.word0 = entry->word0;
		seen.word1 = entry->word1;
	} while (entry->word0 != seen.word0);
	return seen;
}

/*
 * The context numbers in use, for a sweep: each is at the place that its low bits name, or at the next free one. If
 * there are too many for the table, each VSID is looked for among all address spaces instead.
 */
#define LIVE_PLACES 1024u
#define LIVE_MOST (LIVE_PLACES / 2)

static struct live {
	u32 number;
	const struct root_entry *root;  /* NULL: free */
} live_contexts[LIVE_PLACES];
static bool live_surveyed; /* within a sweep: `live_contexts` has them all */

static void live_survey(void)
{
	u32 added = 0, i;
	struct mm *mm;

	memset(live_contexts, 0, sizeof(live_contexts));
	live_surveyed = false;
	list_for_each_entry(mm, &mm_list, all) {
		if (!context_live(mm))
			continue;
		if (++added > LIVE_MOST)
			return;
		for (i = mm->context.number % LIVE_PLACES; live_contexts[i].root; i = (i + 1) % LIVE_PLACES)
			;
		live_contexts[i] = (struct live){ mm->context.number, mm->root };
	}
	live_surveyed = true;
}

/* The root of the tree that translates a VSID; NULL: no address space has the VSID. */
static inline const struct root_entry *root_of(u32 vsid)
{
	u32 number = context_number(vsid), segment = vsid & VSID_SEGMENT;

	if (!live_surveyed || segment >= USER_END >> 28)
		return context_find(vsid, &segment);
	for (u32 i = number % LIVE_PLACES; live_contexts[i].root; i = (i + 1) % LIVE_PLACES)
		if (live_contexts[i].number == number)
			return live_contexts[i].root;
	return NULL;
}

static void check_entry(const struct hpte *entry, check_bad *bad)
{
	struct hpte seen = read_entry(entry);
	u32 vsid = (seen.word0 & HPTE_VSID) >> 7, address;
	const struct root_entry *root = seen.word0 & HPTE_VALID ? root_of(vsid) : NULL;
	const struct pte *at;
	pte_t pte;

	if (!root)
		return;         /* a zombie: its VSID is never loaded again */
	address = (vsid & VSID_SEGMENT) << 28 | hash_address(entry, seen.word0);
	at = pagetable_find(root, address);
	pte = at ? pte_get(at) : PTE_NONE;
	if (!(pte & PTE_VALID))
		bad("the hash table maps a page that the tree does not", vsid, address, seen.word1);
	else if ((pte ^ seen.word1) & (PTE_HARDWARE & ~(PTE_VALID | PTE_COHERENT)))
		bad("hash table and tree differ", vsid, address, seen.word1);
	else if (root != kernel_root && !hash_noted(at, entry))
		bad("a hash-table entry that the tree has no note of", vsid, address, pte);
}

/* Whether one of a group's entries is valid: most groups are empty, and most of a sweep's time is spent here. */
static inline bool group_used(const struct hpte *e)
{
	return (e[0].word0 | e[1].word0 | e[2].word0 | e[3].word0 | e[4].word0 | e[5].word0 | e[6].word0 | e[7].word0) &
	       HPTE_VALID;
}

void hash_check(check_bad *bad)
{
	const struct hpte *end = hash_table + (hash_table ? hash_groups * HPTES_PER_GROUP : 0);

	_Static_assert(HPTES_PER_GROUP == 8, "group_used() reads eight");
	live_survey();
	for (const struct hpte *group = hash_table; group < end; group += HPTES_PER_GROUP) {
		if (!group_used(group))
			continue;
		for (u32 i = 0; i < HPTES_PER_GROUP; i++)
			if (group[i].word0 & HPTE_VALID)
				check_entry(&group[i], bad);
	}
	live_surveyed = false;
}

void hash_check_page(const struct mm *mm, vaddr_t address, check_bad *bad)
{
	u32 vsid = address < KERNEL_BASE ? context_vsid(mm, address) : segment_vsid(address);
	const struct hpte *entry = hash_find(vsid, address);

	if (entry)
		check_entry(entry, bad);
	if (hash_copies(vsid, address) > 1)
		bad("the hash table has a page twice", vsid, address, entry->word1);
}
