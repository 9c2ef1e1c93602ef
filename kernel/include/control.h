/* The control device (docs/interfaces.md, section 2). All of it works without the device: then nothing happens. */
#ifndef CONTROL_H
#define CONTROL_H

#include <types.h>

/* Dynamic causes (docs/interfaces.md, section 3). */
enum control_cause { CONTROL_CAUSE_NONE = 0, CONTROL_CAUSE_IDLE = 10, CONTROL_CAUSE_RECLAIM = 11 };

/* Physical address of the user half, one page, for /dev/pagewalk. */
#define CONTROL_USER_PAGE 0x80001000u

bool control_present(void);
void control_cause(enum control_cause cause);
/* At each switch of address space; exec's, with the program's path; fork's, with the child's id. */
void control_context(u32 pid);
/* Has the backend tell of each switch of address space, where the device wants that. */
struct mmu_backend;
void control_bind(struct mmu_backend *backend);
void control_command(const char *path);
void control_fork(u32 pid);
void control_dump(u32 label);
/* What a TLB holds: sets (0: there is no device) and ways; an entry, sets one after the other. False: invalid. */
enum control_tlb { CONTROL_TLB_DATA, CONTROL_TLB_INSTRUCTION };
struct control_tlb_entry {
	u32 vsid;
	u32 page;                       /* EA[4-19], in place */
	u32 word;                       /* RPN, C, WIMG, PP, as in a PTE's second word */
};
u32 control_tlb_shape(enum control_tlb tlb, u32 *ways);
bool control_tlb_read(enum control_tlb tlb, u32 number, struct control_tlb_entry *out);
/* The sanitizers' events; who makes them binds them only where control_features asks. */
extern u32 control_features;
#define CONTROL_FEATURE_TRANSLATION 1u
#define CONTROL_FEATURE_VSID        2u
#define CONTROL_FEATURE_PROFILE     4u
#define CONTROL_FEATURE_FORK        8u
void control_frame_freed(u32 frame);
void control_frame_allocated(u32 frame);
void control_vsid_issued(u32 vsid);
/* Once, when I/O is mapped; in_tree: the device tree names the device. */
void control_init(bool in_tree);

#endif
