#ifndef PAGEWALK_SIGNAL_H
#define PAGEWALK_SIGNAL_H

#include <sys/types.h>

#define SIGKILL 9
#define SIGUSR1 10
#define SIGUSR2 12
#define SIGALRM 14
#define SIGTERM 15

typedef unsigned long sigset_t;

/* As the call `sigaction` takes it, which is older than `rt_sigaction`. */
struct sigaction {
	void (*sa_handler)(int);
	sigset_t sa_mask;
	unsigned long sa_flags;
	void (*sa_restorer)(void);
};

int sigaction(int number, const struct sigaction *action, struct sigaction *before);
int sigemptyset(sigset_t *set);
int kill(pid_t pid, int number);

#endif
