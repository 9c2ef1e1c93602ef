/*
 * Frames that a shootdown without waiting has unmapped (shootdown=generation). Other processors may use their old
 * translations until they have flushed, so each keeps the reference of its mapping until then. They are few: a full
 * table makes all processors flush at once, and so does an allocation that finds no free frame.
 */
#include <frame.h>
#include <lib.h>
#include <smp.h>
#include <text.h>

#include "shootdown.h"

#define HELD_MOST 256u

/* A ring, oldest first. */
static struct held {
	struct frame *frame;
	u32 number;             /* the newest flush's number when the frame was unmapped */
} held[HELD_MOST];
static u32 held_first, held_count, held_peak;
static u32 held_taken_back;     /* times that an allocation needed them */

void frames_held_look(void)
{
	u32 passed = 0;         /* the last number found to be passed by all */

	while (held_count) {
		struct held *oldest = &held[held_first];

		if (oldest->number != passed && !generation_passed(oldest->number))
			return;
		passed = oldest->number;
		held_first = (held_first + 1) % HELD_MOST;
		held_count--;
		frame_put(oldest->frame);
	}
}

void frame_hold(struct frame *frame)
{
	/* A thirty-second of RAM at most. */
	if (held_count == MIN(HELD_MOST, frame_count / 32)) {
		generation_settle();
		frames_held_look();
	}
	held[(held_first + held_count) % HELD_MOST] = (struct held){ frame, generation_newest() };
	held_count++;
	held_peak = MAX(held_peak, held_count);
}

bool frames_return_held(void)
{
	if (!held_count || !kernel_lock_held())
		return false;
	held_taken_back++;
	generation_settle();
	frames_held_look();
	return true;
}

void frames_held_each(void (*function)(const struct frame *frame))
{
	for (u32 i = 0; i < held_count; i++)
		function(held[(held_first + i) % HELD_MOST].frame);
}

void frames_held_show(struct text *text)
{
	text_printf(text, "held %u\nheld_peak %u\nheld_taken_back %u\n", held_count, held_peak, held_taken_back);
}
