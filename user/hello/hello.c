/* hello: prints its arguments; the least that a static C program does. */
#include <stdio.h>

int main(int argc, char **argv)
{
	printf("hello");
	for (int i = 1; i < argc; i++)
		printf(" %s", argv[i]);
	printf("\n");
	return 0;
}
