/* The kinds of processor that the kernel runs on, and which one this is. */
#ifndef ARCH_CORE_H
#define ARCH_CORE_H
#include <types.h>

struct ppc_backend;

struct core {
	u16 version;                    /* PVR's upper half; 0 ends the table */
	bool hid0_caches;               /* HID0 enables, locks and invalidates the caches */
	bool dozes;                     /* HID0[DOZE] chooses the mode of MSR[POW]; a 604 and an MPC8xx have one mode */
	u32 step;                       /* MSR's bit for an exception after each instruction */
	bool broadcasts;                /* HID0[ABE] puts cache operations on the bus */
	bool monitor;                   /* the performance monitor of the 604 and 750 */
	void (*start)(void);            /* from the boot protocol to C: start_bats, start_8xx ... */
	const char *name;
	const struct ppc_backend *backend;
	u32 hwcap;                      /* AT_HWCAP */
};

extern const struct core cores[];       /* cpu.c; head.S searches it too */
extern const struct core *cpu_core;     /* of the processor that runs */
extern u32 cpu_pvr;                     /* its version register */

/* head.S, soft8xx/head.S, soft405/head.S, hash64/head.S: run with translation off. */
void start_bats(void);
void start_8xx(void);
void start_405(void);
void start_970(void);

#endif
