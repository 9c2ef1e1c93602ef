/*
 * stream.transfer: how a long write to a stream socket reaches a waiting reader (not in the 1999 paper).
 *
 * page: one page into the socket's buffer, then the reader runs while the page is in the cache. buffer: all that fits,
 * then the reader copies. That gains where the data cache does not hold a page and its copies (MPC8xx), and where the
 * next cache serves the reader as fast as switches would (750).
 * Forms: ipc/stream.c.
 */
#include <frame.h>
#include <policy.h>

#include "../stream.h"

static int stream_transfer_apply(const struct policy_setting *to)
{
	stream_piece = to->choice ? ~0u : PAGE_SIZE;
	return 0;
}

POLICY(stream_transfer, "stream.transfer", CHOICES("page", "buffer"), POLICY_ANY, stream_transfer_apply,
       "streamed_whole", &streamed_whole);
