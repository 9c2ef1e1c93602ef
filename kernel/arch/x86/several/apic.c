/*
 * The local APIC of each processor: interrupts between processors, and a timer (Intel manual, volume 3A, chapter 10).
 * Only several processors use it. The interrupts of devices still come from the 8259 pair, through the first
 * processor's LINT0, as firmware has set it.
 *
 * A P6 refuses an interrupt of a vector that it already has waiting, and the sender tries again until it is taken. The
 * receiver may wait with interrupts off for a lock that the sender holds. So there is never a second one on its way:
 * who sends an interrupt notes it, and the receiver takes the note back before it looks for what it is asked. An
 * interrupt whose note is there already is not sent, because the one that is on its way will do.
 */
#include <arch.h>
#include <board.h>
#include <cpu.h>
#include <irq.h>
#include <lib.h>
#include <shootdown.h>
#include <smp.h>
#include <time.h>

#include "apic.h"
#include "several.h"

#define ID           0x020u
#define TASK_PRIORITY 0x080u
#define PRIORITY     0x0a0u
#define SPURIOUS     0x0f0u
#define COMMAND      0x300u
#define COMMAND_HIGH 0x310u
#define TIMER        0x320u
#define LINT0        0x350u
#define LINT1        0x360u
#define INITIAL      0x380u
#define CURRENT      0x390u
#define DIVIDE       0x3e0u

#define ENABLED      0x100u             /* of SPURIOUS */
#define MASKED       0x10000u           /* of a local vector */
#define EXTERNAL     0x700u             /* the 8259's vector */
#define NON_MASKABLE 0x400u
#define DIVIDE_BY_1  0xbu

#define PENDING      0x1000u            /* of COMMAND: not delivered yet */
#define ASSERT_LEVEL 0x4000u
#define INIT         0x500u
#define START_UP     0x600u
#define ALL_OTHERS   0xc0000u

static u8 *apic_registers;
static u32 counts_per_tick;             /* of the timer in a tick of the timebase: 8.24 fixed point */
static bool short_wanted, short_bound;  /* flush requests have the vectors of the short handlers, */
static bool several_run;                /* once there are others */

static u32 apic_get(u32 offset)
{
	return io_read32_le(apic_registers + offset);
}

static void apic_put(u32 offset, u32 value)
{
	io_write32_le(apic_registers + offset, value);
}

static void command_wait(void)
{
	while (apic_get(COMMAND) & PENDING)
		arch_pause();
}

static void command_send(u32 number, u32 command)
{
	command_wait();
	apic_put(COMMAND_HIGH, number << 24);
	apic_put(COMMAND, command);
}

/* What policy interrupt.level changes. */
struct level_form {
	u32 (*raise)(u32 level);
	void (*set)(u32 level);
	void (*send)(u32 number, u32 command);
	u32 (*begin)(void);             /* around an interrupt between processors that C handles */
	void (*end)(u32 level);
};

static u32 raise_nothing(u32 level)
{
	return level;
}

static void set_nothing(u32 level)
{
	(void)level;
}

static u32 begin_plainly(void)
{
	apic_put(APIC_END, 0);
	return 0;
}

/*
 * How often policy interrupt.level=apic accesses local APICs. A wait for a message to arrive counts as one access. Each
 * processor counts its own accesses.
 */
u64 level_accesses;

void apic_account(void)
{
	level_accesses = 0;
	for_each_cpu(cpu)
		level_accesses += cpu->arch.level_accesses;
}

static u32 priority_raise(u32 level)
{
	u32 before = apic_get(TASK_PRIORITY);

	if (before < level)
		apic_put(TASK_PRIORITY, level);
	this_cpu()->arch.level_accesses += before < level ? 2 : 1;
	return before;
}

static void priority_set(u32 level)
{
	apic_put(TASK_PRIORITY, level);
	this_cpu()->arch.level_accesses++;
}

/*
 * As OpenBSD's x86_ipi() did: at a raised level, with a reading of the own number before each write of the command, and
 * a wait until the message has arrived.
 */
static void send_at_level(u32 number, u32 command)
{
	u32 level = priority_raise(ARCH_LEVEL_IPI);

	command_wait();
	(void)apic_get(ID);
	apic_put(COMMAND_HIGH, number << 24);
	(void)apic_get(ID);
	apic_put(COMMAND, command);
	command_wait();
	(void)apic_get(COMMAND);
	this_cpu()->arch.level_accesses += 7;
	priority_set(level);
}

static u32 begin_at_level(void)
{
	u32 before = apic_get(TASK_PRIORITY);

	apic_put(TASK_PRIORITY, apic_get(PRIORITY));
	apic_put(APIC_END, 0);
	this_cpu()->arch.level_accesses += 4;
	return before;
}

static const struct level_form level_forms[] = {
	{ raise_nothing, set_nothing, command_send, begin_plainly, set_nothing },
	{ priority_raise, priority_set, send_at_level, begin_at_level, priority_set },
};
static const struct level_form *level_form = &level_forms[0];
u32 (*arch_level_raise)(u32 level) = raise_nothing;
void (*arch_level_set)(u32 level) = set_nothing;

void level_bind(u32 choice)
{
	level_form = &level_forms[choice];
	arch_level_raise = level_form->raise;
	arch_level_set = level_form->set;
}

/* Which of the short handlers: shootdown_short.c has stored what all are asked to flush. */
static u32 flush_kind(void)
{
	if (!flush_words.start)
		return FLUSH_ALL;
	return flush_words.end - flush_words.start == PAGE_SIZE ? FLUSH_PAGE : FLUSH_RANGE;
}

static void apic_send(u32 targets, unsigned kind)
{
	bool brief = kind == IPI_FLUSH && short_bound;
	u32 which = brief ? flush_kind() : kind;

	for_each_cpu(cpu) {
		u32 *sent = brief ? &cpu->arch.flushes_sent[which] : &cpu->arch.ipis_sent[which];

		if (!(targets & 1u << cpu->number) || !arch_exchange_if(sent, 0, 1))
			continue;
		level_form->send(cpu->number, ASSERT_LEVEL | ((brief ? VECTOR_FLUSH : VECTOR_IPI) + which));
		/* A message to this processor itself has arrived when this function returns. */
		if (cpu == this_cpu())
			command_wait();
	}
}

void arch_flush_short(bool on)
{
	short_wanted = on;
	short_bound = on && several_run;
}

void apic_bind_several(void)
{
	several_run = true;
	short_bound = short_wanted;
}

/* An interrupt between processors is ended before its handler runs, so that one that follows is taken afterwards. */
static void apic_dispatch(void)
{
	struct cpu_state *cpu = &this_cpu()->arch;
	u32 vector = cpu->vector, kind = vector - VECTOR_IPI, level;

	if (vector < IRQS) {
		kernel_lock_again();    /* kernel_leave() lets it go */
		i8259_dispatch();
	} else if (vector == VECTOR_TIMER) {
		apic_put(APIC_END, 0);
		kernel_enter(cpu->timer_regs);
		timer_interrupt(cpu->timer_regs);
	} else if (kind < IPI_KINDS) {
		arch_exchange_if(&cpu->ipis_sent[kind], 1, 0);
		level = level_form->begin();
		ipi_handle(kind);
		level_form->end(level);
	} else {
		irq_spurious();                 /* must not be ended */
	}
}

static const struct irq_controller apic_controller = { "APIC", apic_dispatch, i8259_unmask, apic_send };

void arch_timer_set(u32 ticks)
{
	u64 count = ((u64)ticks * counts_per_tick >> 24) + 1;

	apic_put(INITIAL, (u32)MIN(count, (u64)~0u));
}

/* Counts the timer's clock against the timebase. */
static void timer_measure(void)
{
	u64 from, to;

	apic_put(DIVIDE, DIVIDE_BY_1);
	apic_put(TIMER, MASKED);
	apic_put(INITIAL, ~0u);
	from = arch_timebase();
	do
		to = arch_timebase();
	while (to - from < arch_timebase_hz() / 1000);
	counts_per_tick = (u32)(((u64)(~0u - apic_get(CURRENT)) << 24) / (u32)(to - from));
	apic_put(INITIAL, 0);
}

void apic_init_cpu(void)
{
	bool first = this_cpu() == cpus;

	apic_put(SPURIOUS, ENABLED | VECTOR_SPURIOUS);
	apic_put(LINT0, EXTERNAL | (first ? 0 : MASKED));
	apic_put(LINT1, NON_MASKABLE | (first ? 0 : MASKED));
	apic_put(DIVIDE, DIVIDE_BY_1);
	apic_put(TIMER, VECTOR_TIMER);
}

/* Before the timer is first set. */
void apic_find(void)
{
	apic_registers = arch_io(APIC_PHYSICAL);
}

void apic_init(void)
{
	timer_measure();
	apic_init_cpu();
	irq_init(&apic_controller);
}

void apic_gates_set(bool checked)
{
	const char *of_apic = checked ? apic_vectors_checked : apic_vectors_loaded;
	static const u8 numbers[] = {
		VECTOR_TIMER, VECTOR_IPI, VECTOR_IPI + 1, VECTOR_IPI + 2, VECTOR_IPI + 3, VECTOR_SPURIOUS,
	};

	for (u32 n = 0; n < ARRAY_SIZE(numbers); n++)
		gate_set(numbers[n], of_apic + 16 * n, false);
	gate_set(VECTOR_FLUSH + FLUSH_ALL, flush_all, false);
	gate_set(VECTOR_FLUSH + FLUSH_PAGE, flush_page, false);
	gate_set(VECTOR_FLUSH + FLUSH_RANGE, flush_range, false);
}

void apic_init_others(void)
{
	command_send(0, ALL_OTHERS | ASSERT_LEVEL | INIT);
	command_wait();
}

/* It waits for a start-up message again. */
void apic_stop_cpu(u32 number)
{
	command_send(number, ASSERT_LEVEL | INIT);
	command_wait();
}

void apic_start_cpu(u32 number, paddr_t page)
{
	command_send(number, ASSERT_LEVEL | START_UP | page >> PAGE_SHIFT);
	command_wait();
}
