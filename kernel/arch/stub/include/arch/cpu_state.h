/* What each processor has of its own, as far as only the architecture uses it: nothing. */
#ifndef ARCH_CPU_STATE_H
#define ARCH_CPU_STATE_H

struct cpu_state {
	char none[0];
};

#endif
