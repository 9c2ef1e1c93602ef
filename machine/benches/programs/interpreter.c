/* A branchy interpreter: byte codes of a stack machine that computes primes by a sieve. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PUSH, LOAD, STORE, FETCH, PUT, ADD, LESS, JUMP, JUMP_ZERO, INCREMENT, HALT };

#define SIZE 4000
/* Variables: 0 i, 1 j, 2 count. */
static const int program[] = {
	PUSH, 2, STORE, 0,
	/* 4: i < SIZE? */
	LOAD, 0, PUSH, SIZE, LESS, JUMP_ZERO, 51,
	LOAD, 0, FETCH, JUMP_ZERO, 21, INCREMENT, 0, JUMP, 4, HALT,
	/* 21: a prime */
	INCREMENT, 2,
	LOAD, 0, LOAD, 0, ADD, STORE, 1,
	/* 30: j < SIZE? */
	LOAD, 1, PUSH, SIZE, LESS, JUMP_ZERO, 47,
	LOAD, 1, PUT,
	LOAD, 1, LOAD, 0, ADD, STORE, 1,
	/* 47 follows the jump back */
	JUMP, 30, HALT,
};

/* The jumps to 47 and 51 leave the loops. */
static unsigned run(unsigned char *sieve)
{
	int stack[16], variables[3] = {0, 0, 0}, *top = stack;
	for (const int *pc = program;;) {
		switch (*pc++) {
		case PUSH:
			*++top = *pc++;
			break;
		case LOAD:
			*++top = variables[*pc++];
			break;
		case STORE:
			variables[*pc++] = *top--;
			break;
		case FETCH:
			*top = sieve[*top];
			break;
		case PUT:
			sieve[*top--] = 1;
			break;
		case ADD:
			top--;
			*top += top[1];
			break;
		case LESS:
			top--;
			*top = *top < top[1];
			break;
		case JUMP:
			pc = program + *pc;
			break;
		case JUMP_ZERO: {
			int target = *pc++;
			if (!*top--) {
				if (target == 51)
					return variables[2];
				if (target == 47) {
					variables[0]++;
					target = 4;
				}
				pc = program + target;
			}
			break;
		}
		case INCREMENT:
			variables[*pc++]++;
			break;
		default:
			abort();
		}
	}
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	static unsigned char sieve[SIZE];
	unsigned sum = 0;
	for (unsigned long n = 0; n < rounds; n++) {
		memset(sieve, 0, sizeof(sieve));
		sum += run(sieve);
	}
	printf("%u\n", sum);
	return 0;
}
