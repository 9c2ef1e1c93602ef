/* The files of /proc about translation that every backend has. */
#include <arch.h>
#include <arch/copy.h>
#include <arch/reload.h>
#include <context.h>
#include <flush.h>
#include <mmu.h>
#include <procfs.h>
#include <text.h>

#include "internal.h"

static void show_contexts(struct text *text)
{
	text_printf(text, "renewed %llu\nretired %llu\ngenerations %llu\npages_flushed %llu\nranges_cut %llu\nc_reloads %llu\n",
		    contexts_renewed, contexts_retired, context_generations, flush_pages, flush_cutoffs, reloads_c);
}

void arch_proc_init(void)
{
	proc_file("tlbmiss", tlbmiss_show, tlbmiss_store);
	mmu->proc_init();
	copy_proc_init();
	proc_file("mmu/contexts", show_contexts, NULL);
}
