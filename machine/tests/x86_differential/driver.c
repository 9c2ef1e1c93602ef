/*
 * Runs instruction sequences under qemu-i386. Each request on standard input is loaded through a signal frame, so that
 * every register is the sequence's own; what the sequence ends with (INT3, or whatever it raised) is the next signal,
 * whose frame holds the answer. The sequence itself loads and stores the floating-point unit's state.
 *
 * Request:  bytes of code, eight registers, eflags, floating-point image (108), data (256), the code.
 * Answer:   signal, eip, eight registers, eflags, floating-point image (108), data (256).
 */
typedef unsigned int u32;
typedef unsigned char u8;

#define CODE ((u8 *)0x01100000)
#define DATA ((u8 *)0x01000000)
#define LOADED (DATA + 0x200)
#define STORED (DATA + 0x300)
#define DATA_SIZE 256
#define IMAGE_SIZE 108
#define MAX_BYTES 4096

enum { SYS_EXIT = 1, SYS_READ = 3, SYS_WRITE = 4, SYS_SIGACTION = 67, SYS_MMAP = 90, SYS_SIGALTSTACK = 186 };

/* The kernel's signal frame (asm/sigcontext.h): registers as instructions number them, from the last to the first. */
struct sigcontext {
	u32 gs, fs, es, ds, registers[8], trap, error, eip, cs, eflags, esp_at_signal, ss, fpstate, mask, cr2;
};

struct request {
	u32 bytes, registers[8], eflags;
	u8 image[IMAGE_SIZE], data[DATA_SIZE];
};
struct answer {
	u32 signal, eip, registers[8], eflags;
	u8 image[IMAGE_SIZE], data[DATA_SIZE];
};

static u8 input[1 << 16], output[1 << 16], stack[1 << 16];
static u32 input_next, input_end, output_end, running;

static int call(u32 number, u32 a, u32 b, u32 c)
{
	int result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
	return result;
}

static void flush(void)
{
	u32 done = 0;

	while (done < output_end) {
		int n = call(SYS_WRITE, 1, (u32)(output + done), output_end - done);

		if (n <= 0)
			call(SYS_EXIT, 1, 0, 0);
		done += (u32)n;
	}
	output_end = 0;
}

static void copy(void *to, const void *from, u32 size)
{
	for (u32 i = 0; i < size; i++)
		((volatile u8 *)to)[i] = ((const u8 *)from)[i];
}

static void put(const void *from, u32 size)
{
	if (output_end + size > sizeof(output))
		flush();
	copy(output + output_end, from, size);
	output_end += size;
}

/* Ends the program at the end of the input, after the last answer. */
static void get(void *to, u32 size)
{
	for (u32 i = 0; i < size; i++) {
		if (input_next == input_end) {
			int n;

			flush();
			n = call(SYS_READ, 0, (u32)input, sizeof(input));
			if (n <= 0)
				call(SYS_EXIT, n < 0, 0, 0);
			input_next = 0;
			input_end = (u32)n;
		}
		((volatile u8 *)to)[i] = input[input_next++];
	}
}

static void handler(u32 signal, struct sigcontext context)
{
	static struct request r;
	static struct answer a;
	volatile struct sigcontext *regs = &context;

	if (running) {
		a.signal = signal;
		a.eip = regs->eip;
		a.eflags = regs->eflags;
		for (u32 i = 0; i < 8; i++)
			a.registers[i] = regs->registers[7 - i];
		copy(a.image, STORED, IMAGE_SIZE);
		copy(a.data, DATA, DATA_SIZE);
		put(&a, sizeof(a));
		/* If the next sequence ends qemu-i386, the number of answers tells which it was. */
		flush();
	}
	running = 1;
	get(&r, sizeof(r));
	if (r.bytes > MAX_BYTES)
		call(SYS_EXIT, 2, 0, 0);
	get(CODE, r.bytes);
	for (u32 i = 0; i < 8; i++)
		regs->registers[7 - i] = r.registers[i];
	regs->esp_at_signal = r.registers[4];
	regs->eip = (u32)CODE;
	regs->eflags = r.eflags;
	copy(LOADED, r.image, IMAGE_SIZE);
	for (u32 i = 0; i < IMAGE_SIZE; i++)
		((volatile u8 *)STORED)[i] = 0;
	copy(DATA, r.data, DATA_SIZE);
}

/* As a C library's: sigreturn takes the frame's registers. */
__asm__(".text\nrestorer:\n\tpopl %eax\n\tmovl $119, %eax\n\tint $0x80\n");
extern void restorer(void);

void _start(void)
{
	static const u32 signals[] = { 4, 5, 7, 8, 11 };
	/* Handler, mask, flags (ONSTACK, NODEFER, RESTORER), restorer. */
	static u32 action[4] = { 0, 0, 0x08000000 | 0x40000000 | 0x04000000, 0 };
	static u32 alternate[3];
	/* Readable, writable, executable; private, fixed, anonymous. */
	static u32 data[6] = { 0x01000000, 0x1000, 7, 0x32, (u32)-1, 0 };
	static u32 code[6] = { 0x01100000, 0x2000, 7, 0x32, (u32)-1, 0 };

	alternate[0] = (u32)stack;
	alternate[2] = sizeof(stack);
	call(SYS_SIGALTSTACK, (u32)alternate, 0, 0);
	action[0] = (u32)handler;
	action[3] = (u32)restorer;
	for (u32 i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		call(SYS_SIGACTION, signals[i], (u32)action, 0);
	call(SYS_MMAP, (u32)data, 0, 0);
	call(SYS_MMAP, (u32)code, 0, 0);
	__asm__ volatile("int3");
}
