/* dynamic: a dynamically linked program that uses what the run-time linker offers: libraries at start and later,
 * looking up names in them, thread-local memory, and destructors in order. Its output is compared with Linux's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static __thread int own = 7;

static void *thread(void *argument)
{
	own += *(int *)argument;
	printf("thread: %d\n", own);
	return NULL;
}

__attribute__((constructor)) static void begin(void)
{
	printf("constructor\n");
}

__attribute__((destructor)) static void end(void)
{
	printf("destructor\n");
}

/* The auxiliary vector describes this program, not its interpreter. */
static int check_vector(void)
{
	const Elf32_Phdr *header = (const Elf32_Phdr *)getauxval(AT_PHDR);
	unsigned long count = getauxval(AT_PHNUM), found = 0;

	for (unsigned long i = 0; i < count; i++)
		found += header[i].p_type == PT_INTERP;
	printf("interpreter: %s, program headers: %s\n", getauxval(AT_BASE) ? "loaded" : "none",
	       found == 1 ? "of this program" : "wrong");
	return found == 1 && getauxval(AT_ENTRY) != getauxval(AT_BASE);
}

int main(int argc, char **argv)
{
	double (*square_root)(double);
	pthread_t other;
	int amount = 35;
	void *library;

	printf("arguments: %d, last \"%s\"\n", argc, argv[argc - 1]);
	if (!check_vector())
		return 1;
	if (pthread_create(&other, NULL, thread, &amount) || pthread_join(other, NULL))
		return 2;
	printf("main: %d\n", own);
	library = dlopen("libm.so.6", RTLD_NOW);
	if (!library) {
		printf("%s\n", dlerror());
		return 3;
	}
	*(void **)&square_root = dlsym(library, "sqrt");
	printf("square root: %.6f\n", square_root ? square_root(2.0) : 0.0);
	printf("missing name: %s\n", dlsym(library, "no such name") ? "found" : "not found");
	dlclose(library);
	if (argc > 1 && strcmp(argv[1], "again") == 0) {
		fflush(stdout);
		execl(argv[0], argv[0], "once more", (char *)NULL);
		return 4;
	}
	return 0;
}
