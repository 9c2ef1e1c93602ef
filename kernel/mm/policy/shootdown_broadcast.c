/*
 * shootdown=broadcast: a 604's tlbie goes over the bus, and every processor drops the page. The flush of the hash table has
 * done that for each page, and waited for it with tlbsync, so nobody is interrupted for it.
 * A new context has to be loaded by the processors that run the address space, which are interrupted as in every form.
 */
#include "../shootdown.h"

static void flush(u32 targets, const struct flush_request *request)
{
	(void)targets;
	(void)request;
}

static void answer(void)
{
}

const struct shootdown_form shootdown_broadcast = { shootdown_all, flush, answer };
