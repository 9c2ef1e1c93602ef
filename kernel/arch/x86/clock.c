/*
 * The timebase and the timer, by the 8254 (Intel 8254 data sheet). Counter 2 counts 65536 ticks again and again and is
 * read; counter 0 counts down once and interrupts. With a counter of cycles, that is the timebase.
 */
#include <arch.h>
#include <arch/message.h>
#include <cpu.h>
#include <errno.h>
#include <lib.h>

#include "internal.h"

#define COUNTER_0   0x40u
#define COUNTER_2   0x42u
#define COMMAND     0x43u
#define GATE        0x61u       /* bit 0: counter 2 counts; bit 1: the speaker */
#define ONCE        0x30u       /* counter 0, low byte first, mode 0 */
#define AGAIN       0xb4u       /* counter 2, low byte first, mode 2 */
#define LATCH_2     0x80u
#define CLOCK_HZ    1193182u    /* of the PC's 8254: 14.31818 MHz / 12 */
#define TICKS_MOST  0x8000u     /* of counter 0 at once; and counter 2 must be read as often, not to wrap unseen */

static u32 cycles_hz;           /* of the counter of cycles; 0: there is none */

CAUSE(switch) static u16 counter_read(void)
{
	u8 low;

	port_write8(COMMAND, LATCH_2);
	low = port_read8(COUNTER_2);
	return (u16)(port_read8(COUNTER_2) << 8 | low);
}

static u64 ticks_now;

CAUSE(switch) static u64 ticks_read(void)
{
	static u16 last;
	u32 flags = irq_save();
	u16 now = (u16)-counter_read();
	u64 ticks = ticks_now += (u16)(now - last);

	last = now;
	irq_restore(flags);
	return ticks;
}

CAUSE(switch) static inline u64 cycles_read(void)
{
	u32 low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (u64)high << 32 | low;
}

CAUSE(switch) static u32 ticks_low(void)
{
	return (u32)ticks_read();
}

CAUSE(switch) static u32 cycles_low(void)
{
	return (u32)cycles_read();
}

u32 (*arch_timebase_low)(void) = ticks_low;
u64 clock_switches;             /* how often the time was taken without a read of the counter */

CAUSE(switch) static u32 ticks_last_counted(void)
{
	clock_switches++;
	return (u32)ticks_now;
}

/* Policy switch.time. -ENODEV: this processor counts cycles. */
int clock_take_last(bool last)
{
	if (cycles_hz)
		return last ? -ENODEV : 0;
	arch_timebase_low = last ? ticks_last_counted : ticks_low;
	message_allow(MESSAGE_LAST_TIME, last);
	return 0;
}

CAUSE(switch) u64 arch_timebase(void)
{
	return cycles_hz ? cycles_read() : ticks_read();
}

u32 arch_timebase_hz(void)
{
	return arch_cpu.timebase_hz;
}

void i8254_timer_set(u32 ticks)
{
	u32 count = ticks;

	if (cycles_hz)
		count = (u32)((u64)ticks * CLOCK_HZ / cycles_hz) + 1;
	count = MAX(MIN(count, TICKS_MOST), 1u);
	port_write8(COMMAND, ONCE);
	port_write8(COUNTER_0, (u8)count);
	port_write8(COUNTER_0, (u8)(count >> 8));
}

#define READS_MOST 1000000u     /* of a counter that stands still */

/* How often the counter of cycles counts in a second, by some 10 ms of the 8254. 0: the 8254 does not count. */
CAUSE(switch) static u64 cycles_measure_once(void)
{
	u64 begin = ticks_read(), from = cycles_read(), ticks;
	u32 reads = 0;

	do {
		if (++reads == READS_MOST)
			return 0;
		ticks = ticks_read() - begin;
	} while (ticks < CLOCK_HZ / 100);
	return (cycles_read() - from) * CLOCK_HZ / ticks;
}

/*
 * Measures the counter of cycles against the 8254, if the boot loader has not told its frequency. An emulator's host
 * may stop the machine in the middle of a measurement: so the middle one of three counts is taken. 0: the 8254 does not
 * count.
 */
CAUSE(switch) static u32 cycles_measure(void)
{
	u64 least = cycles_measure_once(), middle = least, greatest = least;

	for (u32 i = 0; least && i < 2; i++) {
		u64 hz = cycles_measure_once();

		middle = MAX(MIN(hz, greatest), least);
		least = MIN(least, hz);
		greatest = MAX(greatest, hz);
	}
	return (u32)MIN(middle, (u64)0xffffffff);
}

CAUSE(switch) void clock_init(void)
{
	port_write8(GATE, (u8)((port_read8(GATE) & ~2u) | 1));
	port_write8(COMMAND, AGAIN);
	port_write8(COUNTER_2, 0);
	port_write8(COUNTER_2, 0);
	ticks_read();
	ticks_now = 0;
	arch_cpu.timebase_hz = CLOCK_HZ;
	if (!(cpu_features & CPU_TSC))
		return;
	cycles_hz = arch_cpu.clock_hz ? arch_cpu.clock_hz : cycles_measure();
	if (!cycles_hz)
		return;
	arch_cpu.clock_hz = arch_cpu.timebase_hz = cycles_hz;
	arch_timebase_low = cycles_low;
}
