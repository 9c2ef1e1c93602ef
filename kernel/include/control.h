/* The control device (docs/interfaces.md, section 2). Without the device, these functions do nothing. */
#ifndef CONTROL_H
#define CONTROL_H
#include <types.h>

/* Dynamic causes (docs/interfaces.md, section 3). */
enum control_cause { CONTROL_CAUSE_NONE = 0, CONTROL_CAUSE_IDLE = 10, CONTROL_CAUSE_RECLAIM = 11 };

/* The kernel half: its physical address and its registers. */
#define CONTROL_PA              0x80000f00u
#define CONTROL_MAGIC           0x00
#define CONTROL_FEATURES        0x04
#define CONTROL_POWER_OFF       0x08
#define CONTROL_CAUSE           0x0c
#define CONTROL_CONTEXT         0x1c
#define CONTROL_COMMAND         0x20
#define CONTROL_FORK            0x28

/* Physical address of the user half, one page, for /dev/pagewalk. */
#define CONTROL_USER_PAGE 0x80001000u

bool control_present(void);
void control_cause(enum control_cause cause);
/*
 * Tells the device of a switch of address space; of an exec, with the program's path; of a fork, with the child's pid.
 */
void control_context(u32 pid);
/* Has each switch of address space reported, if the device asks for that. */
void control_bind(void);
void control_command(const char *path);
void control_fork(u32 pid);
/* Bits of FEATURES: what the device makes use of. */
#define CONTROL_FEATURE_PROFILE 4u
#define CONTROL_FEATURE_FORK    8u

/*
 * For the architecture, which has control_init() and control_bind(). control_init() is called once, when I/O is mapped;
 * in_tree: the device tree names the device. Where the device is, it calls control_start().
 */
void control_init(bool in_tree);
void control_start(u32 *registers);
void control_write(u32 offset, u32 value);
u32 control_read(u32 offset);
/* For control_bind(). False: the device does not ask for switches. */
bool control_report_switches(void);

#endif
