/*
 * Functions that the attacks share. Each program of tests/hostile is one class of attack on the kernel, run by a user
 * without privilege; its cases have the form of tests/user (user/common/check.h). Afterwards the system must be intact.
 */
#ifndef PAGEWALK_HOSTILE_ATTACK_H
#define PAGEWALK_HOSTILE_ATTACK_H

#include "user/common/check.h"

#define ATTACKER 31337

/* Runs the cases as the user ATTACKER, then checks the system; returns main's status. */
int attack_run(const char *subject, int argc, char **argv, const struct test_case *cases, size_t count);

#define ATTACK_MAIN(subject, cases) \
	int main(int argc, char **argv) \
	{ \
		return attack_run(subject, argc, argv, cases, sizeof(cases) / sizeof((cases)[0])); \
	}

#endif
