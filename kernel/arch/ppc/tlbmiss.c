/*
 * /proc/tlbmiss: counts translations that software reloaded. On a 603 each is a TLB miss; on a 604 or 750, whose
 * hardware reloads the TLBs, a miss of the hash table. "on" and "off" start and stop counting, which costs nothing
 * while off; 0 resets the counts.
 */
#include <arch/mmu.h>
#include <arch/reload.h>
#include <errno.h>
#include <lib.h>
#include <text.h>

#include "internal.h"

void tlbmiss_show(struct text *text)
{
	text_printf(text, "counting %s\nof %s\n", reload_counting() ? "on" : "off",
		    backend->software_reload ? "tlb" : "hash");
	text_printf(text, "instruction_user %llu\ninstruction_kernel %llu\ndata_user %llu\ndata_kernel %llu\n",
		    misses_instruction[1], misses_instruction[0], misses_data[1], misses_data[0]);
	text_printf(text, "kernel_pages %llu\n", misses_of_kernel_pages);
}

int tlbmiss_store(const char *words, size_t size)
{
	while (size && (words[size - 1] == '\n' || words[size - 1] == ' '))
		size--;
	if (size == 2 && memcmp(words, "on", 2) == 0)
		reload_count(true);
	else if (size == 3 && memcmp(words, "off", 3) == 0)
		reload_count(false);
	else if (size == 1 && words[0] == '0')
		reload_count_reset();
	else
		return -EINVAL;
	return 0;
}
