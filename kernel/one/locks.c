/* /proc/locks/contention with one processor: the locks are there by name, and nobody takes them. */
#include <lib.h>
#include <procfs.h>
#include <smp.h>
#include <text.h>

static void show_locks(struct text *text)
{
	static const char *const names[] = { "kernel", "outside", "frames" };

	text_puts(text, "lock              taken  contended    waited_ns\n");
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		text_printf(text, "%-12s %10u %10u %12u\n", names[i], 0u, 0u, 0u);
}

void smp_init(void)
{
	proc_file("locks/contention", show_locks, NULL);
}
