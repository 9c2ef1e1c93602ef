/* The files of /proc about translation. */
#include <arch.h>
#include <arch/message.h>
#include <context.h>
#include <flush.h>
#include <mmu.h>
#include <procfs.h>
#include <text.h>

#include "internal.h"

static void show_contexts(struct text *text)
{
	text_printf(text, "renewed %llu\nretired %llu\ngenerations %llu\npages_flushed %llu\nranges_cut %llu\n",
		    contexts_renewed, contexts_retired, context_generations, flush_pages, flush_cutoffs);
}

void arch_proc_init(void)
{
	mmu->proc_init();
	proc_file("mmu/contexts", show_contexts, NULL);
}

void arch_policies_account(void)
{
	messages_account();
	apic_account();
}
