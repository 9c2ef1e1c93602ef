/* From the entry point to main(), the end of the program, and the heap. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Has a value other than 0, so that every program has initialised data: Linux 2.6.11 starts no program without. */
static char *nothing[] = { (char *)"PATH=/bin", NULL };
char **environ = nothing;

int main(int argc, char **argv);
int start_main(long *stack);

int start_main(long *stack)
{
	char **argv = (char **)(stack + 1);

	environ = argv + stack[0] + 1;
	exit(main((int)stack[0], argv));
}

void exit(int status)
{
	fflush(stdout);
	_exit(status);
}

char *getenv(const char *name)
{
	size_t length = strlen(name);

	for (char **variable = environ; *variable; variable++)
		if (strncmp(*variable, name, length) == 0 && (*variable)[length] == '=')
			return *variable + length + 1;
	return NULL;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	size_t end = (size_t)sbrk(0), start = (end + alignment - 1) & -alignment;

	return sbrk((intptr_t)(start - end + size)) == (void *)-1 ? NULL : (void *)start;
}

void *malloc(size_t size)
{
	return aligned_alloc(16, size);
}

/* The heap's fresh pages hold zeros, and no memory is used twice. */
void *calloc(size_t count, size_t size)
{
	return size && count > (size_t)-1 / size ? NULL : malloc(count * size);
}

void free(void *memory)
{
	(void)memory;
}
