/* Which functions arch_replace() has replaced: a second form of the same function would win in silence. */
#include <arch.h>
#include <lib.h>

#define REPLACED_MOST 32u

static struct {
	const void *function, *by;
} functions_replaced[REPLACED_MOST];

void replacement_note(const void *function, const void *by)
{
	u32 i = 0;

	while (i < REPLACED_MOST && functions_replaced[i].function && functions_replaced[i].function != function)
		i++;
	if (i == REPLACED_MOST)
		panic("replace: more than %u functions", REPLACED_MOST);
	if (functions_replaced[i].function && functions_replaced[i].by != by)
		panic("replace: the function at 0x" ADDRESS_HEX " is replaced twice", (vaddr_t)function);
	functions_replaced[i].function = function;
	functions_replaced[i].by = by;
}
