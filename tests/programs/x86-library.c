/* What gcc leaves to its library on an i386, beside unsigned 64-bit division (kernel/arch/x86/library.c): signed
 * division, conversions of floating point to and from unsigned 64-bit integers, finding bits, and products and
 * quotients of complex numbers. The host's libgcc has no form for an i486. */
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

u64 __udivmoddi4(u64 n, u64 d, u64 *rest);
s64 __divmoddi4(s64 n, s64 d, s64 *rest)
{
	u64 r, q = __udivmoddi4(n < 0 ? -(u64)n : (u64)n, d < 0 ? -(u64)d : (u64)d, &r);

	if (rest)
		*rest = (s64)(n < 0 ? -r : r);
	return (s64)((n < 0) != (d < 0) ? -q : q);
}

s64 __divdi3(s64 n, s64 d)
{
	return __divmoddi4(n, d, (s64 *)0);
}

s64 __moddi3(s64 n, s64 d)
{
	s64 rest;

	__divmoddi4(n, d, &rest);
	return rest;
}

#define TWO_TO_63 9223372036854775808.0L

u64 __fixunsxfdi(long double x)
{
	return x < TWO_TO_63 ? (u64)(s64)x : (u64)(s64)(x - TWO_TO_63) ^ 0x8000000000000000ULL;
}

u64 __fixunsdfdi(double x)
{
	return __fixunsxfdi(x);
}

u64 __fixunssfdi(float x)
{
	return __fixunsxfdi(x);
}

/* An extended number holds 64 bits, so the sum is exact and the conversion rounds once. */
long double __floatundixf(u64 n)
{
	return (long double)(s64)(n & 0x7fffffffffffffffULL) + (n >> 63 ? TWO_TO_63 : 0.0L);
}

double __floatundidf(u64 n)
{
	return (double)__floatundixf(n);
}

float __floatundisf(u64 n)
{
	return (float)__floatundixf(n);
}

int __clzdi2(u64 n)
{
	return n >> 32 ? __builtin_clz((u32)(n >> 32)) : 32 + __builtin_clz((u32)n);
}

int __ffsdi2(u64 n)
{
	return !n ? 0 : (u32)n ? 1 + __builtin_ctz((u32)n) : 33 + __builtin_ctz((u32)(n >> 32));
}

int __popcountsi2(u32 n);
int __popcountdi2(u64 n)
{
	return __popcountsi2((u32)n) + __popcountsi2((u32)(n >> 32));
}

int __paritysi2(u32 n)
{
	return __popcountsi2(n) & 1;
}

u64 __bswapdi2(u64 n)
{
	return (u64)__builtin_bswap32((u32)n) << 32 | __builtin_bswap32((u32)(n >> 32));
}

/* By the schoolbook formulas: without C's annex G, which treats infinities apart. */
#define COMPLEX(suffix, type)                                                                           \
	_Complex type __mul##suffix##3(type a, type b, type c, type d)                                  \
	{                                                                                               \
		return __builtin_complex((type)(a * c - b * d), (type)(a * d + b * c));                 \
	}                                                                                               \
	_Complex type __div##suffix##3(type a, type b, type c, type d)                                  \
	{                                                                                               \
		type n = c * c + d * d;                                                                 \
		return __builtin_complex((type)((a * c + b * d) / n), (type)((b * c - a * d) / n));     \
	}
COMPLEX(sc, float)
COMPLEX(dc, double)
COMPLEX(xc, long double)

/* x to the power n, as the compiler's own functions do it for -ffast-math; no C library has them. */
#define POWER(suffix, type)                                                                             \
	type __powi##suffix##2(type x, int n)                                                           \
	{                                                                                               \
		u32 left = n < 0 ? -(u32)n : (u32)n;                                                    \
		type y = 1;                                                                             \
		for (; left; left >>= 1, x *= x)                                                        \
			if (left & 1)                                                                   \
				y *= x;                                                                 \
		return n < 0 ? 1 / y : y;                                                               \
	}
POWER(sf, float)
POWER(df, double)
POWER(xf, long double)
