/*
 * What a kernel for an i486 takes from the compiler's library: division of 64 bits, and the lowest bit that is set.
 *
 * The library of today's compilers for a PC begins each function with ENDBR32, which an i486 does not know.
 */
typedef unsigned long long u64;
typedef unsigned int u32;

u64 __udivmoddi4(u64 dividend, u64 divisor, u64 *remainder);
u64 __udivdi3(u64 dividend, u64 divisor);
u64 __umoddi3(u64 dividend, u64 divisor);
int __ffsdi2(u64 value);

/* The processor's own division: of 64 bits by 32, where the quotient has 32. */
static u32 divide(u32 high, u32 low, u32 divisor, u32 *remainder)
{
	u32 quotient;

	__asm__("divl %4" : "=a"(quotient), "=d"(*remainder) : "0"(low), "1"(high), "rm"(divisor));
	return quotient;
}

u64 __udivmoddi4(u64 dividend, u64 divisor, u64 *remainder)
{
	u64 quotient = 0, rest = 0;

	if (divisor >> 32 == 0) {
		u32 high = (u32)(dividend >> 32), of_divisor = (u32)divisor, left;
		u32 upper = high / of_divisor, lower = divide(high % of_divisor, (u32)dividend, of_divisor, &left);

		quotient = (u64)upper << 32 | lower;
		rest = left;
	} else {
		for (int bit = 63; bit >= 0; bit--) {
			u64 carry = rest >> 63;

			rest = rest << 1 | (dividend >> bit & 1);
			if (carry || rest >= divisor) {
				rest -= divisor;
				quotient |= 1ull << bit;
			}
		}
	}
	if (remainder)
		*remainder = rest;
	return quotient;
}

u64 __udivdi3(u64 dividend, u64 divisor)
{
	return __udivmoddi4(dividend, divisor, 0);
}

u64 __umoddi3(u64 dividend, u64 divisor)
{
	u64 remainder;

	__udivmoddi4(dividend, divisor, &remainder);
	return remainder;
}

int __ffsdi2(u64 value)
{
	for (int bit = 0; bit < 64; bit++)
		if (value >> bit & 1)
			return bit + 1;
	return 0;
}
