/* What the compiler leaves to its library: unsigned 64-bit division, counting and finding bits. */
#include <types.h>

u64 __udivmoddi4(u64 n, u64 d, u64 *rest);
u64 __udivdi3(u64 n, u64 d);
u64 __umoddi3(u64 n, u64 d);
int __popcountsi2(u32 n);
int __ctzdi2(u64 n);

/* high:low / d; high is less than d. */
static inline u32 divide_step(u32 high, u32 low, u32 d, u32 *rest)
{
	u32 q;

	__asm__("divl %4" : "=a"(q), "=d"(*rest) : "0"(low), "1"(high), "rm"(d) : "cc");
	return q;
}

/* The divisor has one word. Division by 0 is the processor's exception. */
static inline u64 divide_by_word(u64 n, u32 d, u64 *rest)
{
	u32 high = (u32)(n >> 32), low = (u32)n, q = 0, r = high;

	if (high >= d)
		q = divide_step(0, high, d, &r);
	low = divide_step(r, low, d, &r);
	*rest = r;
	return (u64)q << 32 | low;
}

/*
 * The divisor has two words, so the quotient has one. The leading 32 bits of the divisor give a quotient that is right
 * or one too large (Knuth, The Art of Computer Programming, volume 2, 4.3.1).
 */
static inline u64 divide_by_words(u64 n, u64 d, u64 *rest)
{
	u32 shift = (u32)__builtin_clz((u32)(d >> 32)), unused, q;

	q = divide_step((u32)(n >> 33), (u32)(n >> 1), (u32)(d << shift >> 32), &unused) >> (31 - shift);
	if (q)
		q--;
	*rest = n - q * d;
	if (*rest >= d) {
		*rest -= d;
		q++;
	}
	return q;
}

u64 __udivmoddi4(u64 n, u64 d, u64 *rest)
{
	u64 r, q = d >> 32 ? divide_by_words(n, d, &r) : divide_by_word(n, (u32)d, &r);

	if (rest)
		*rest = r;
	return q;
}

u64 __udivdi3(u64 n, u64 d)
{
	return __udivmoddi4(n, d, NULL);
}

u64 __umoddi3(u64 n, u64 d)
{
	u64 rest;

	__udivmoddi4(n, d, &rest);
	return rest;
}

int __popcountsi2(u32 n)
{
	n -= n >> 1 & 0x55555555;
	n = (n & 0x33333333) + (n >> 2 & 0x33333333);
	return (int)(((n + (n >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24);
}

int __ctzdi2(u64 n)
{
	return (u32)n ? __builtin_ctz((u32)n) : 32 + __builtin_ctz((u32)(n >> 32));
}
