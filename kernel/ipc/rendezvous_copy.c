/*
 * Copying a message's memory between address spaces: twice, through a kernel buffer, or once, through an aperture
 * (policy ipc.copy). A message is finished in the form in which it began, even if the policy changes.
 */
#include <aperture.h>
#include <arch.h>
#include <errno.h>
#include <kmalloc.h>
#include <lib.h>
#include <mm.h>
#include <task.h>
#include <uaccess.h>
#include <window.h>

#include "rendezvous.h"

u64 rendezvous_apertures;

/* Copies within a page of the other space; returns the bytes copied. */
CAUSE(copy) static size_t copy_by_aperture(struct mm *mm, uaddr_t theirs, uaddr_t own, size_t n, bool to_other)
{
	uaddr_t there = aperture_begin(mm, theirs, own);
	size_t done = to_other ? copy_in_user((void *)there, (const void *)own, n) :
				 copy_in_user((void *)own, (const void *)there, n);

	aperture_end();
	rendezvous_apertures++;
	return done;
}

/* Faults in the page that stopped a copy, first on the sender's side. Returns the errors of current and its partner. */
static long page_in(struct mm *mm, uaddr_t theirs, uaddr_t own, bool to_other, long *other_error)
{
	if (!to_other && mm_fault(mm, theirs, MM_READ))
		*other_error = -EFAULT;
	else if (mm_fault(current->mm, own, to_other ? MM_READ : MM_WRITE))
		return -EFAULT;
	else if (to_other && mm_fault(mm, theirs, MM_WRITE))
		*other_error = -EFAULT;
	return 0;
}

/*
 * Copies between the two spaces, piece by piece. If a piece makes no progress after both pages were faulted in, the
 * copy fails.
 */
NOINLINE CAUSE(copy) static long copy_between(struct mm *mm, uaddr_t theirs, uaddr_t own, u32 n, bool to_other,
				     long *other_error)
{
	u32 fruitless = 0;

	while (n) {
		u32 part = MIN(n, PAGE_SIZE - (u32)(theirs % PAGE_SIZE)), done;

		if (mm != current->mm)
			done = copy_by_aperture(mm, theirs, own, part, to_other);
		else
			done = to_other ? copy_in_user((void *)theirs, (const void *)own, part) :
					  copy_in_user((void *)own, (const void *)theirs, part);
		theirs += done;
		own += done;
		n -= done;
		fruitless = done ? 0 : fruitless + 1;
		if (done < part) {
			long error = page_in(mm, theirs, own, to_other, other_error);

			if (!error && fruitless == 2)
				error = -EFAULT;
			if (error || *other_error || !current->rendezvous.copied)
				return error;
		} else if (n) {
			interrupt_window();
		}
	}
	return 0;
}

/* Copies with a reference to the other address space: its last thread may end while a page is faulted in. */
static long copy_with(struct task *other, uaddr_t theirs, uaddr_t own, u32 n, bool to_other, long *other_error)
{
	struct mm *mm = mm_get(other->mm);
	long error;

	current->rendezvous.copied = other;
	other->rendezvous.copier = current;
	error = copy_between(mm, theirs, own, n, to_other, other_error);
	if (current->rendezvous.copied)
		other->rendezvous.copier = NULL;
	mm_put(mm);
	return error;
}

/* Copies current's message to its buffer. */
static long hold_message(u32 n)
{
	struct rendezvous *mine = &current->rendezvous;

	if (n > mine->held_room) {
		void *larger = kmalloc(n);

		if (!larger)
			return -ENOMEM;
		kfree(mine->held);
		mine->held = larger;
		mine->held_room = n;
	}
	return copy_from_user(mine->held, mine->buffers.send, n);
}

static long hold_all(void)
{
	struct rendezvous *mine = &current->rendezvous;
	long error = mine->buffers.send_size ? hold_message(mine->buffers.send_size) : 0;

	mine->holds = !error && mine->buffers.send_size;
	return error;
}

static long hold_nothing(void)
{
	return 0;
}

/* Hands a message over: the two threads exchange their buffers. */
static void hand_held(struct rendezvous *from, struct rendezvous *to)
{
	void *buffer = to->held;
	u32 room = to->held_room;

	to->held = from->held;
	to->held_room = from->held_room;
	to->holds = true;
	from->held = buffer;
	from->held_room = room;
	from->holds = false;
}

/* Hands the buffer to the receiver, which empties it when it runs. */
CAUSE(copy) static long push_held(struct task *receiver, u32 n, long *receiver_error)
{
	struct rendezvous *mine = &current->rendezvous, *theirs = &receiver->rendezvous;
	long error;

	(void)receiver_error;
	mine->copied = receiver;
	theirs->copier = current;
	error = hold_message(n);
	if (mine->copied) {
		theirs->copier = NULL;
		if (!error)
			hand_held(mine, theirs);
	}
	return error;
}

CAUSE(copy) static long push_by_aperture(struct task *receiver, u32 n, long *receiver_error)
{
	return copy_with(receiver, (uaddr_t)receiver->rendezvous.buffers.receive,
			 (uaddr_t)current->rendezvous.buffers.send, n,
			 true, receiver_error);
}

const struct rendezvous_copy rendezvous_copy_twice = { .hold = hold_all, .push = push_held };
const struct rendezvous_copy rendezvous_copy_aperture = { .hold = hold_nothing, .push = push_by_aperture };
const struct rendezvous_copy *rendezvous_copy = &rendezvous_copy_twice;

CAUSE(copy) long rendezvous_pull(struct task *sender, u32 n, long *other_error)
{
	struct rendezvous *mine = &current->rendezvous, *theirs = &sender->rendezvous;
	long error;

	if (!theirs->holds)
		return copy_with(sender, (uaddr_t)theirs->buffers.send, (uaddr_t)mine->buffers.receive, n, false,
				 other_error);
	mine->copied = sender;
	theirs->copier = current;
	hand_held(theirs, mine);
	error = rendezvous_take_held(n);
	if (mine->copied)
		theirs->copier = NULL;
	return error;
}

CAUSE(copy) long rendezvous_take_held(u32 n)
{
	current->rendezvous.holds = false;
	return copy_to_user(current->rendezvous.buffers.receive, current->rendezvous.held, n);
}
