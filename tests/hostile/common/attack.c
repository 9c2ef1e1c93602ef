/* Drops privilege before the attacks, and checks the system after them. */
#define _GNU_SOURCE
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* A bystander: a process that holds memory during the attacks, which must neither change nor be taken away. */
struct witness {
	pid_t process;
	uid_t user;
	size_t size;            /* of its memory, in bytes */
	int ask[2], ready[2];   /* ready: it has filled its memory */
};

static uint32_t pattern(size_t i)
{
	return (uint32_t)(i * 2654435761u) ^ 0x5a5aa5a5u;
}

/* Holds memory until the parent asks; exits with 0 if the memory is unchanged. */
static int bear_witness(void *argument)
{
	const struct witness *witness = argument;
	size_t count = witness->size / sizeof(uint32_t);
	uint32_t *words = mmap(NULL, witness->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char byte;

	CHECK(words != MAP_FAILED);
	for (size_t i = 0; i < count; i++)
		words[i] = pattern(i);
	close(witness->ask[1]);
	MUST(write(witness->ready[1], "", 1));
	CHECK_EQUAL(read(witness->ask[0], &byte, 1), 0);
	for (size_t i = 0; i < count; i++)
		CHECK_EQUAL(words[i], pattern(i));
	CHECK_EQUAL(getuid(), witness->user);
	return 0;
}

static void witness_start(struct witness *witness, size_t size)
{
	char byte;

	witness->user = getuid();
	witness->size = size;
	MUST(pipe2(witness->ask, O_CLOEXEC));
	MUST(pipe2(witness->ready, O_CLOEXEC));
	witness->process = test_child(bear_witness, witness);
	CHECK_EQUAL(read(witness->ready[0], &byte, 1), 1);
	close(witness->ask[0]);
	close(witness->ready[0]);
	close(witness->ready[1]);
}

static int witness_intact(struct witness *witness)
{
	close(witness->ask[1]);
	return test_wait(witness->process) == 0;
}

static int say_hello(void *argument)
{
	(void)argument;
	execl("/bin/hello", "hello", "after", "the", "attack", (char *)NULL);
	return 1;
}

/* Checks that the bystander's memory is unchanged, that programs still start, and that this process has no
 * privilege. */
static int check_system(void *argument)
{
	(void)argument;
	CHECK_EQUAL(getuid(), ATTACKER);
	CHECK_EQUAL(geteuid(), ATTACKER);
	CHECK_ERROR(setuid(0), EPERM);
	CHECK_ERROR(kill(1, 0), EPERM);
	CHECK_EQUAL(test_in_child(say_hello, NULL), 0);
	return 0;
}

int attack_run(const char *subject, int argc, char **argv, const struct test_case *cases, size_t count)
{
	struct witness superuser, witness;
	int is_superuser = geteuid() == 0, status, intact;

	if (is_superuser) {
		witness_start(&superuser, 256 * 4096);
		MUST(setgroups(0, NULL));
		MUST(setgid(ATTACKER));
		MUST(setuid(ATTACKER));
		/* As for any program started by this user: children may be traced. */
		MUST(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
	}
	witness_start(&witness, 64 * 4096);
	status = test_run(subject, argc, argv, cases, count);
	intact = test_in_child(check_system, NULL) == 0;
	intact &= witness_intact(&witness);
	if (is_superuser)
		intact &= witness_intact(&superuser);
	printf("%s: the system is %s\n", subject, intact ? "as it was" : "DAMAGED");
	return status || !intact;
}
