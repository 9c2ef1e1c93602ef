/* Loads and stores over 4 MB, more than any TLB here reaches: a chase through a permutation, and a copy. */
#include <stdio.h>
#include <stdlib.h>

/* A prime: the two arrays don't fall on the same sets of TLB and caches. */
#define WORDS 500009

static unsigned next[WORDS], copy[WORDS];

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	unsigned at = 0, sum = 0;
	for (unsigned i = 0; i < WORDS; i++)
		next[i] = (i * 1021 + 12345) % WORDS;
	for (unsigned long n = 0; n < rounds; n++) {
		for (unsigned i = 0; i < 100000; i++) {
			at = next[at];
			sum += at;
		}
		for (unsigned i = 0; i < 100000; i++) {
			unsigned from = (i + n * 100000) % WORDS;
			copy[from] = next[from] + sum;
		}
	}
	printf("%08x\n", sum + copy[at]);
	return 0;
}
