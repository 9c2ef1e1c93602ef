/* Integer arithmetic in registers: a counted loop without memory accesses. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	unsigned a = 1, b = 2, c = 3;
	for (unsigned long n = 0; n < rounds; n++) {
		for (unsigned i = 0; i < 10000; i++) {
			a = a * 5 + b;
			b = (b ^ a) + (c >> 3);
			c += (a & 0xff) | (b << 2);
			a ^= c >> 7;
		}
	}
	printf("%08x\n", a + b + c);
	return 0;
}
