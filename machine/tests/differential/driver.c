/*
 * Runs instruction sequences under qemu-ppc or, built for 64 bits, qemu-ppc64. Each request on standard input is
 * loaded through a signal frame, so that every register is the sequence's own; what the sequence ends with (a trap, or
 * whatever it raised) is the next signal, whose frame holds the answer.
 *
 * Request:  words, gpr[32], cr, xer, lr, ctr (a register each), fpr[32] (64 bits each), data[256], the words.
 * Answer:   signal, nip, gpr[32], cr, xer, lr, ctr, fpscr, fpr[32], data[256].
 */
typedef unsigned int u32;
typedef unsigned char u8;
/* A register, and an address. */
typedef unsigned long word;

#define CODE ((u32 *)0x01100000)
#define DATA ((u8 *)0x01000000)
#define DATA_SIZE 256
#define MAX_WORDS 512
/* More than a signal's frame and the handler's take. */
#define FRAMES 8192

enum { SYS_EXIT = 1, SYS_READ = 3, SYS_WRITE = 4, SYS_MMAP = 90, SYS_SIGACTION = 173, SYS_SIGALTSTACK = 185 };

/* The parts of the kernel's signal frame that are used here (asm/ucontext.h, asm/elf.h). */
struct mcontext {
	word gregs[48];
	u32 fregs[33][2];
};
#ifdef __powerpc64__
struct ucontext {
	word flags, link, stack[3], mask[16], sigcontext[8];
	struct mcontext regs;
};
#define REGS(context) (&(context)->regs)
#else
struct ucontext {
	u32 flags, link, stack[3], pad[7];
	struct mcontext *regs;
};
#define REGS(context) ((context)->regs)
#endif
enum { NIP = 32, CTR = 35, LINK = 36, XER = 37, CCR = 38 };

struct request {
	word words, gpr[32], cr, xer, lr, ctr;
	u32 fpr[32][2];
	u8 data[DATA_SIZE];
};
struct answer {
	word signal, nip, gpr[32], cr, xer, lr, ctr, fpscr;
	u32 fpr[32][2];
	u8 data[DATA_SIZE];
};

static u8 input[1 << 16], output[1 << 16], stack[1 << 16];
static u32 input_next, input_end, output_end, running;

static int call(word number, word a, word b, word c, word d, word e, word f)
{
	register word r0 __asm__("r0") = number;
	register word r3 __asm__("r3") = a;
	register word r4 __asm__("r4") = b;
	register word r5 __asm__("r5") = c;
	register word r6 __asm__("r6") = d;
	register word r7 __asm__("r7") = e;
	register word r8 __asm__("r8") = f;

	__asm__ volatile("sc\n\tbns+ 1f\n\tneg %1,%1\n1:"
			 : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7), "+r"(r8)
			 :
			 : "r9", "r10", "r11", "r12", "cr0", "ctr", "memory");
	return (int)r3;
}

static void flush(void)
{
	u32 done = 0;

	while (done < output_end) {
		int n = call(SYS_WRITE, 1, (word)(output + done), output_end - done, 0, 0, 0);

		if (n <= 0)
			call(SYS_EXIT, 1, 0, 0, 0, 0, 0);
		done += (u32)n;
	}
	output_end = 0;
}

static void put(const void *from, u32 size)
{
	const u8 *bytes = from;

	if (output_end + size > sizeof(output))
		flush();
	for (u32 i = 0; i < size; i++)
		output[output_end++] = bytes[i];
}

/* Ends the program at the end of the input, after the last answer. */
static void get(void *to, u32 size)
{
	u8 *bytes = to;

	for (u32 i = 0; i < size; i++) {
		if (input_next == input_end) {
			int n;

			flush();
			n = call(SYS_READ, 0, (word)input, sizeof(input), 0, 0, 0);
			if (n <= 0)
				call(SYS_EXIT, n < 0, 0, 0, 0, 0, 0);
			input_next = 0;
			input_end = (u32)n;
		}
		bytes[i] = input[input_next++];
	}
}

static void answer(u32 signal, const struct mcontext *regs)
{
	static struct answer a;

	a.signal = signal;
	a.nip = regs->gregs[NIP];
	for (u32 i = 0; i < 32; i++) {
		a.gpr[i] = regs->gregs[i];
		a.fpr[i][0] = regs->fregs[i][0];
		a.fpr[i][1] = regs->fregs[i][1];
	}
	a.cr = regs->gregs[CCR];
	a.xer = regs->gregs[XER];
	a.lr = regs->gregs[LINK];
	a.ctr = regs->gregs[CTR];
	a.fpscr = regs->fregs[32][1];
	for (u32 i = 0; i < DATA_SIZE; i++)
		a.data[i] = DATA[i];
	put(&a, sizeof(a));
}

static void handler(u32 signal, void *info, struct ucontext *context)
{
	static struct request r;
	struct mcontext *regs = REGS(context);

	(void)info;
	if (running)
		answer(signal, regs);
	running = 1;
	get(&r, sizeof(r));
	if (r.words > MAX_WORDS)
		call(SYS_EXIT, 2, 0, 0, 0, 0, 0);
	get(CODE, r.words * sizeof(u32));
	for (u32 i = 0; i < r.words; i += 8)
		__asm__ volatile("dcbst 0,%0\n\tsync\n\ticbi 0,%0\n\tsync\n\tisync" : : "r"(CODE + i) : "memory");
	for (u32 i = 0; i < 32; i++) {
		regs->gregs[i] = r.gpr[i];
		regs->fregs[i][0] = r.fpr[i][0];
		regs->fregs[i][1] = r.fpr[i][1];
	}
	regs->fregs[32][0] = 0;
	regs->fregs[32][1] = 0;
	regs->gregs[NIP] = (word)CODE;
	regs->gregs[CCR] = r.cr;
	regs->gregs[XER] = r.xer;
	regs->gregs[LINK] = r.lr;
	regs->gregs[CTR] = r.ctr;
	for (u32 i = 0; i < DATA_SIZE; i++)
		DATA[i] = r.data[i];
}

void _start(void)
{
	static const u32 signals[] = { 4, 5, 7, 8, 11 };
	/* Handler, flags (SIGINFO, NODEFER, ONSTACK), restorer, mask. */
	static word action[] = { 0, 0x4 | 0x40000000 | 0x08000000, 0, 0, 0 };
	/* Base, flags, size. */
	static word alternate[3];

	/* Where r1 points into this stack already, the frame lies below r1: that is the stack's own memory too. */
	alternate[0] = (word)stack + FRAMES;
	alternate[2] = sizeof(stack) - FRAMES;
	call(SYS_SIGALTSTACK, (word)alternate, 0, 0, 0, 0, 0);
	action[0] = (word)handler;
	for (u32 i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		call(SYS_SIGACTION, signals[i], (word)action, 0, 8, 0, 0);
	/* Readable, writable, executable; private, fixed, anonymous. */
	call(SYS_MMAP, (word)DATA, 0x1000, 7, 0x32, (word)-1, 0);
	call(SYS_MMAP, (word)CODE, 0x1000, 7, 0x32, (word)-1, 0);
	__asm__ volatile("trap");
}
