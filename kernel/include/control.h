/* The control device (docs/interfaces.md, section 2). Without the device, these functions do nothing. */
#ifndef CONTROL_H
#define CONTROL_H
#include <types.h>

/* Dynamic causes (docs/interfaces.md, section 3). */
enum control_cause { CONTROL_CAUSE_NONE = 0, CONTROL_CAUSE_IDLE = 10, CONTROL_CAUSE_RECLAIM = 11 };

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
void control_dump(u32 label);
/* The sanitizers' events. Their sources bind them only if control_features asks for them. */
extern u32 control_features;
#define CONTROL_FEATURE_TRANSLATION 1u
#define CONTROL_FEATURE_CONTEXT     2u
#define CONTROL_FEATURE_PROFILE     4u
#define CONTROL_FEATURE_FORK        8u
void control_frame_freed(u32 frame);
void control_frame_allocated(u32 frame);
/* Called once, when I/O is mapped; in_tree: the device tree names the device. */
void control_init(bool in_tree);

#endif
