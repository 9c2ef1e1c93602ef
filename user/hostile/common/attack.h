/*
 * What the attacks share. Each program of user/hostile is one class of attack on the kernel, run by a user without any
 * privilege; its cases are those of user/test (test/common/check.h). At the end the system must be as it was.
 */
#ifndef PAGEWALK_HOSTILE_ATTACK_H
#define PAGEWALK_HOSTILE_ATTACK_H

#include "test/common/check.h"

#define ATTACKER 31337

/* Runs the cases as the user ATTACKER, then looks at the system; returns main's status. */
int attack_run(const char *subject, int argc, char **argv, const struct test_case *cases, size_t count);

#define ATTACK_MAIN(subject, cases) \
	int main(int argc, char **argv) \
	{ \
		return attack_run(subject, argc, argv, cases, sizeof(cases) / sizeof((cases)[0])); \
	}

#endif
