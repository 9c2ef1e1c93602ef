/* Prints each argument as hexadecimal digits with a full stop behind them, one to a line: any byte can be told. */
#include <stdio.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		for (const char *at = argv[i]; *at; at++)
			printf("%02x", (unsigned char)*at);
		printf(".\n");
	}
	return 0;
}
