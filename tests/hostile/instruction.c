/*
 * Any instruction with any registers: words by chance, run one after the other. Most end in a signal, whose handler
 * steps over the word. Whatever they do, they do it to their own process.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/attack.h"
#include "machine.h"

#define PAGE 4096u
#define WORDS 256
#define CHILDREN 60

static uint32_t *code;          /* words, then one that traps for ever */
static volatile uint32_t *steps;        /* words that raised a signal, of all children */
static uint32_t state;

static uint32_t chance(void)
{
	state = state * 1664525 + 1013904223;
	return state >> 16 | state << 16;
}

static void step(int number, siginfo_t *info, void *context)
{
	uintptr_t at = machine_address(context);

	(void)number;
	(void)info;
	(*steps)++;
	if (at - (uintptr_t)code >= WORDS * sizeof(*code))
		_exit(0);
	machine_skip(context, sizeof(*code));
}

/* A word that neither calls nor branches: what it does then depends on the registers alone. */
static uint32_t word(void)
{
	uint32_t made;

	do
		made = machine_likely_word(chance());
	while (!machine_goes_on(made));
	return made;
}

static int run_words(void *argument)
{
	static const int signals[] = { SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV };
	struct sigaction action = { .sa_sigaction = step, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
	stack_t stack = { .ss_size = 16 * PAGE };

	state = (uint32_t)(uintptr_t)argument;
	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(sigaltstack(&stack, NULL));
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		MUST(sigaction(signals[i], &action, NULL));
	for (unsigned i = 0; i < WORDS; i++)
		code[i] = word();
	for (unsigned i = WORDS; i < PAGE / sizeof(*code); i++)
		code[i] = MACHINE_TRAP_WORD;
	for (unsigned i = 0; i < PAGE; i += 32)
		machine_code_written((char *)code + i);
	alarm(60);
	((void (*)(void))code)();
	return 1;
}

static void words_by_chance(void)
{
	code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	steps = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(code != MAP_FAILED && steps != MAP_FAILED);
	if (!MACHINE_RUNS_WORDS)
		return;
	for (uint32_t seed = 1; seed <= CHILDREN; seed++)
		CHECK(test_in_child(run_words, (void *)(uintptr_t)(seed * 2654435761u)) != 1000 + SIGALRM);
	CHECK(*steps > CHILDREN * WORDS / 8);
}

static const struct test_case cases[] = {
	CASE(words_by_chance),
};

ATTACK_MAIN("instruction", cases)
