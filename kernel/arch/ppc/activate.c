/* The steps of mmu->activate(): the backend's own, and those that a policy or the control device asks for. */
#include <arch/mmu.h>

static void (*own)(struct mm *mm);
static void (*flush)(void);             /* NULL: a switch empties nothing */
static void (*report)(struct mm *mm);   /* NULL: nobody asks for switches */

static void activate_with_more(struct mm *mm)
{
	own(mm);
	/* NULL is the end of an address space, whose successor comes later. */
	if (flush && mm)
		flush();
	if (report)
		report(mm);
}

static void activate_bind(void)
{
	mmu->activate = flush || report ? activate_with_more : own;
}

void activate_set_own(void (*step)(struct mm *mm))
{
	own = step;
	activate_bind();
}

void activate_set_flush(void (*step)(void))
{
	flush = step;
	activate_bind();
}

void activate_set_report(void (*step)(struct mm *mm))
{
	report = step;
	activate_bind();
}
