/*
 * shootdown=broadcast: the processor's own flush of a page reaches every processor. The backend has flushed each page,
 * and has waited until all had dropped it, so nobody is interrupted for it.
 * A new context has to be loaded by the processors that run the address space, which are interrupted as in every form.
 */
#include "../shootdown.h"

static void broadcast_flush(u32 targets, const struct flush_request *request)
{
	(void)targets;
	(void)request;
}

static void broadcast_answer(void)
{
}

const struct shootdown_form shootdown_broadcast = {
	.name = "broadcast",
	.asked = shootdown_all,
	.asked_of_pages = shootdown_asked,
	.flush = broadcast_flush,
	.answer = broadcast_answer,
};
