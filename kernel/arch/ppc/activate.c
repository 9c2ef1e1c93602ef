/* The steps of mmu->activate(): the backend's own, and those that a policy or the control device asks for. */
#include <arch/message.h>
#include <arch/mmu.h>

static void (*own_step)(struct mm *mm);
static void (*flush_step)(void);             /* NULL: a switch empties nothing */
static void (*report_step)(struct mm *mm);   /* NULL: nobody asks for switches */

static void activate_with_more(struct mm *mm)
{
	own_step(mm);
	/* NULL is the end of an address space, whose successor comes later. */
	if (flush_step && mm)
		flush_step();
	if (report_step)
		report_step(mm);
}

static void activate_bind(void)
{
	mmu->activate = flush_step || report_step ? activate_with_more : own_step;
	/* gate.S reports its switches itself (control.c). */
	message_allow(MESSAGE_SEGMENTS, own_step == segments_activate && !flush_step && !backend->wide);
}

void activate_set_own(void (*step)(struct mm *mm))
{
	own_step = step;
	activate_bind();
}

void activate_set_flush(void (*step)(void))
{
	flush_step = step;
	activate_bind();
}

void activate_set_report(void (*step)(struct mm *mm))
{
	report_step = step;
	activate_bind();
}
