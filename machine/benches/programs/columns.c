/* A matrix walked by columns: from element to element a power of two of bytes, all in a few sets of the caches. */
#include <stdio.h>
#include <stdlib.h>
static unsigned m[256][256];
int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	unsigned sum = 1;
	for (unsigned long n = 0; n < rounds; n++)
		for (unsigned c = 0; c < 256; c++)
			for (unsigned r = 0; r < 256; r++) {
				m[r][c] += sum;
				sum += m[r][c] >> 3;
			}
	printf("%08x\n", sum);
	return 0;
}
