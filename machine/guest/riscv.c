/* What translation costs on a RISC-V machine, measured without a kernel (docs/riscv-costs.md):
 *
 *   latency <size> <page> <tenths>     a load that depends on the one before, in tenths of a cycle
 *   pages <n> <cycles>                 sfence.vma of n pages, one by one
 *   all <w> <cycles>                   sfence.vma of everything, and the first access again to each of w pages
 *   space <w> <cycles>                 the same, of one address space
 *   remote <others> <form> <cycles>    a page that the others have in their TLBs is gone from these
 *
 * All processors begin at _start in machine mode. The first one goes on in supervisor mode, with Sv39. The others run a
 * loop in supervisor mode and answer software interrupts in machine mode. */
#include <stdint.h>

typedef uint64_t word;

#define RAM     0x80000000ul
#define UART    ((volatile uint8_t *)0x10000000)
#define FINISH  ((volatile uint32_t *)0x00100000)
#define MSIP    ((volatile uint32_t *)0x02000000)
#define BUFFER  (RAM + (256ul << 20))           /* 128 MB */
#define PLACE   0x1000000000ul                  /* where the buffer is mapped, by 4 KB */
#define LARGE   0x2000000000ul                  /* and by 2 MB */
#define MOST    (128ul << 20)
#define HARTS   8

enum { V = 1, R = 2, W = 4, X = 8, A = 64, D = 128, ALL = V | R | W | X | A | D };

static word root[512] __attribute__((aligned(4096)));
static word middle[2][512] __attribute__((aligned(4096)));
static word leaves[MOST >> 21][512] __attribute__((aligned(4096)));
static volatile word here[HARTS], gone[HARTS];
static volatile word running;
volatile word made;

static inline word cycles(void)
{
	word value;

	__asm__ volatile("rdcycle %0" : "=r"(value) : : "memory");
	return value;
}

static inline word load(word at)
{
	word value;

	__asm__ volatile("ld %0, 0(%1)" : "=r"(value) : "r"(at) : "memory");
	return value;
}

static inline void store(word at, word value)
{
	__asm__ volatile("sd %0, 0(%1)" : : "r"(value), "r"(at) : "memory");
}

static inline void fence_all(void)
{
	__asm__ volatile("sfence.vma" : : : "memory");
}

static inline void fence_page(word at)
{
	__asm__ volatile("sfence.vma %0" : : "r"(at) : "memory");
}

static inline void fence_space(void)
{
	__asm__ volatile("li t0, 1\n\tsfence.vma zero, t0" : : : "t0", "memory");
}

static void put(const char *text)
{
	while (*text)
		*UART = (uint8_t)*text++;
}

static void number(word value)
{
	char digits[24];
	unsigned int at = sizeof(digits);

	digits[--at] = 0;
	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	put(digits + at);
}

static void row(const char *name, word first, const char *second, word value)
{
	put(name);
	put(" ");
	number(first);
	put(" ");
	put(second);
	if (*second)
		put(" ");
	number(value);
	put("\n");
}

/* The frames of the pages of 4 KB, in an order as of a system that has run for a while. */
static uint16_t frames[MOST >> 12];

static void shuffle(void)
{
	word state = 1;

	for (word n = 0; n < MOST >> 12; n++) {
		word other = (state = state * 6364136223846793005u + 1442695040888963407u) >> 33;

		other %= n + 1;
		frames[n] = frames[other];
		frames[other] = (uint16_t)n;
	}
}

static void map(void)
{
	shuffle();
	/* Devices and RAM, by pages of 1 GB; then the buffer twice. */
	root[0] = 0 | ALL;
	root[2] = RAM >> 12 << 10 | ALL;
	root[PLACE >> 30] = (word)middle[0] >> 12 << 10 | V;
	root[LARGE >> 30] = (word)middle[1] >> 12 << 10 | V;
	for (word n = 0; n < MOST >> 21; n++) {
		word at = BUFFER + (n << 21);

		middle[0][n] = (word)leaves[n] >> 12 << 10 | V;
		middle[1][n] = at >> 12 << 10 | ALL;
		for (word k = 0; k < 512; k++)
			leaves[n][k] = ((BUFFER >> 12) + frames[n * 512 + k]) << 10 | ALL;
	}
}

/* The lines of the buffer in the order in which ramlat visits its words: the bits of their numbers reversed. So each is
 * half of the buffer away from the one before. At most so many lines are visited. */
#define LINES 65536

static void latency(word size, word place, const char *page)
{
	word lines = size / 64, count = lines < LINES ? lines : LINES, at = 0, begin, rounds = count < 4096 ? 4 : 1;
	/* A cache with random replacement takes some rounds to be as it stays. */
	word before = count < 65536 ? 8 : 1;

	for (word k = 0; k < count; k++) {
		word next = at, bit = lines >> 1;

		while (next & bit) {
			next ^= bit;
			bit >>= 1;
		}
		next |= bit;
		if (k == count - 1)
			next = 0;
		store(place + at * 64, place + next * 64);
		at = next;
	}
	at = place;
	for (word k = 0; k < count * before; k++)
		at = load(at);
	begin = cycles();
	for (word k = 0; k < count * rounds; k += 8)
		at = load(load(load(load(load(load(load(load(at))))))));
	row("latency", size >> 10, page, (cycles() - begin) * 10 / (count * rounds));
}

static void touch(word pages)
{
	for (word n = 0; n < pages; n++)
		load(PLACE + (n << 12) + (n & 63) * 64);
}

static void fences(void)
{
	for (word n = 1; n <= 512; n *= 2) {
		word begin, plain;

		touch(n);
		touch(n);
		begin = cycles();
		for (word k = 0; k < n; k++)
			fence_page(PLACE + (k << 12));
		row("pages", n, "", cycles() - begin);
		for (unsigned int form = 0; form < 2; form++) {
			touch(n);
			touch(n);
			begin = cycles();
			touch(n);
			plain = cycles() - begin;
			begin = cycles();
			if (form)
				fence_space();
			else
				fence_all();
			touch(n);
			row(form ? "space" : "all", n, "", cycles() - begin - plain);
		}
	}
}

/* Each of the others reads the page, so that its TLB has it, and says so. */
static void others_touch(word others)
{
	running++;
	for (word n = 1; n <= others; n++)
		while (here[n] != running)
			;
}

static void remote(word others)
{
	static const char *const forms[] = { "interrupt", "fence" };

	for (unsigned int form = 0; form < 2; form++) {
		word best = ~0ul;

		for (unsigned int k = 0; k < 4; k++) {
			word begin, took;

			others_touch(others);
			begin = cycles();
			fence_page(PLACE);
			if (form == 0) {
				for (word n = 1; n <= others; n++) {
					gone[n] = 0;
					MSIP[n] = 1;
				}
				for (word n = 1; n <= others; n++)
					while (!gone[n])
						;
			}
			took = cycles() - begin;
			if (took < best)
				best = took;
		}
		row("remote", others, forms[form], best);
	}
}

void first(void);
void other(word number);

void first(void)
{
	word others = 0;

	for (word size = 4 << 10; size <= MOST; size *= 2) {
		latency(size, PLACE, "4k");
		latency(size, LARGE, "2m");
	}
	fences();
	running = 1;
	made = 1;
	for (word n = 1; n < HARTS; n++)
		MSIP[n] = 1;
	for (word wait = 0; wait < 20000; wait++)
		__asm__ volatile("");
	for (word n = 1; n < HARTS; n++)
		others += here[n] != 0;
	for (word n = 1; n <= others; n++)
		remote(n);
	*FINISH = 0x5555;
}

void other(word number_)
{
	word seen = 0;

	for (;;) {
		if (running == seen)
			continue;
		seen = running;
		load(PLACE);
		here[number_] = seen;
	}
}

/* A software interrupt: the page of this processor's TLB goes. Anything else ends the run. */
void trap(word number_, word cause);
void trap(word number_, word cause)
{
	if (cause != (1ul << 63 | 3)) {
		row("trap", cause, "", 0);
		*FINISH = 0x13333;
		for (;;)
			;
	}
	MSIP[number_] = 0;
	fence_page(PLACE);
	gone[number_] = 1;
}

/* Machine mode, then the given function in supervisor mode. */
void start(word number_);
void start(word number_)
{
	word satp;

	if (number_ == 0)
		map();
	__asm__ volatile("csrw pmpaddr0, %0\n\tcsrw pmpcfg0, %1" : : "r"(~0ul >> 10), "r"(0x1ful));
	__asm__ volatile("csrw mcounteren, %0\n\tcsrw mie, %1" : : "r"(7ul), "r"(8ul));
	satp = 8ul << 60 | 1ul << 44 | (word)root >> 12;
	__asm__ volatile("csrw satp, %0\n\tsfence.vma" : : "r"(satp) : "memory");
	__asm__ volatile("csrw mstatus, %0\n\tcsrw mepc, %1\n\tmv a0, %2\n\tmret"
			 : : "r"(1ul << 11), "r"(number_ ? (word)other : (word)first), "r"(number_) : "a0", "memory");
	__builtin_unreachable();
}

__asm__("	.text\n"
	".globl _start\n"
	"_start:\n"
	"	la	sp, stacks\n"
	"	addi	t0, a0, 1\n"
	"	slli	t0, t0, 12\n"
	"	add	sp, sp, t0\n"
	"	csrw	mscratch, a0\n"
	"	la	t0, entry\n"
	"	csrw	mtvec, t0\n"
	"	beqz	a0, 2f\n"
	/* The others sleep until the first one wakes them. */
	"	csrwi	mie, 8\n"
	"1:	wfi\n"
	"	la	t1, made\n"
	"	ld	t1, 0(t1)\n"
	"	beqz	t1, 1b\n"
	"2:	j	start\n"
	"	.balign 4\n"
	"entry:	addi	sp, sp, -160\n"
	"	sd	ra, 0(sp)\n	sd	t0, 8(sp)\n	sd	t1, 16(sp)\n	sd	t2, 24(sp)\n"
	"	sd	a0, 32(sp)\n	sd	a1, 40(sp)\n	sd	a2, 48(sp)\n	sd	a3, 56(sp)\n"
	"	sd	a4, 64(sp)\n	sd	a5, 72(sp)\n	sd	a6, 80(sp)\n	sd	a7, 88(sp)\n"
	"	sd	t3, 96(sp)\n	sd	t4, 104(sp)\n	sd	t5, 112(sp)\n	sd	t6, 120(sp)\n"
	"	csrr	a0, mscratch\n	csrr	a1, mcause\n	call	trap\n"
	"	ld	ra, 0(sp)\n	ld	t0, 8(sp)\n	ld	t1, 16(sp)\n	ld	t2, 24(sp)\n"
	"	ld	a0, 32(sp)\n	ld	a1, 40(sp)\n	ld	a2, 48(sp)\n	ld	a3, 56(sp)\n"
	"	ld	a4, 64(sp)\n	ld	a5, 72(sp)\n	ld	a6, 80(sp)\n	ld	a7, 88(sp)\n"
	"	ld	t3, 96(sp)\n	ld	t4, 104(sp)\n	ld	t5, 112(sp)\n	ld	t6, 120(sp)\n"
	"	addi	sp, sp, 160\n	mret\n"
	".bss\n.balign 16\n"
	"stacks: .zero 4096 * 8\n"
	"	.text\n");
