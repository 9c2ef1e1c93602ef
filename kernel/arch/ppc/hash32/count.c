/* Counting insertions into the hash table by a patched instruction, which costs nothing while counting is off. */
#include <arch.h>
#include <arch/hash.h>
#include <arch/image.h>
#include <errno.h>
#include <kmalloc.h>

/* Where each insertion ends (insert.h), and what goes there (arch/hash_insert.h) while insertions are counted. */
extern u32 hash_counted_kernel[], hash_counted_data[], hash_counted_instruction[];
extern const u32 hash_counted_kernel_on[], hash_counted_data_on[], hash_counted_instruction_on[];

#define SYNC 0x7c0004acu

int hash_count(bool on)
{
	if (on && !hash_group_misses) {
		hash_group_misses = kzalloc(hash_groups * sizeof(*hash_group_misses));
		if (!hash_group_misses)
			return -ENOMEM;
	}
	code_divert(hash_counted_kernel, on ? hash_counted_kernel_on : NULL, SYNC);
	code_divert(hash_counted_data, on ? hash_counted_data_on : NULL, SYNC);
	code_divert(hash_counted_instruction, on ? hash_counted_instruction_on : NULL, SYNC);
	return 0;
}
