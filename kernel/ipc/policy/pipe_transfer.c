/*
 * pipe.transfer: how a write of more than PIPE_BUF bytes reaches a waiting reader (not in the 1999 paper).
 *
 * copy: into the pipe's buffer until it is full; then the reader copies. page: one page into the buffer, then the
 * reader runs while the page is in the cache. direct: into the reader's own memory, without the buffer.
 * Forms: ipc/pipe_transfer.c, ipc/pipe.c.
 */
#include <pipe.h>
#include <policy.h>

static int pipe_transfer_apply(const struct policy_setting *to)
{
	static const struct pipe_transfer *const forms[] = { &pipe_copy, &pipe_page, &pipe_direct };

	pipe_transfer = forms[to->choice];
	return 0;
}

POLICY(pipe_transfer, "pipe.transfer", CHOICES("copy", "page", "direct"), POLICY_ANY, pipe_transfer_apply, "transfers",
       &pipe_transfers);
