/* A chase through so many bytes, in steps of so many: an odd number of lines, so that it comes to every line. */
#include <stdio.h>
#include <stdlib.h>

#define LINE 32

static unsigned area[1 << 20];

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	unsigned bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : sizeof area;
	unsigned step = argc > 3 ? strtoul(argv[3], NULL, 10) : LINE;
	unsigned at = 0;
	for (unsigned to = 0; to < bytes; to += LINE)
		area[to / sizeof *area] = (to + step) & (bytes - 1);
	for (unsigned n = 0; n < rounds * 100000; n++)
		at = area[at / sizeof *area];
	printf("%08x\n", at);
	return 0;
}
