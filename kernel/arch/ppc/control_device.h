/* The control device's kernel half (docs/interfaces.md, section 2), and what of it only a PowerPC has. */
#ifndef CONTROL_DEVICE_H
#define CONTROL_DEVICE_H
#include <types.h>

#define CONTROL_PA              0x80000f00u

#define CONTROL_MAGIC           0x00
#define CONTROL_FEATURES        0x04
#define CONTROL_POWER_OFF       0x08
#define CONTROL_CAUSE           0x0c
#define CONTROL_FRAME_FREED     0x10
#define CONTROL_FRAME_ALLOCATED 0x14
#define CONTROL_VSID_ISSUED     0x18
#define CONTROL_CONTEXT         0x1c
#define CONTROL_COMMAND         0x20
#define CONTROL_DUMP            0x24
#define CONTROL_FORK            0x28
#define CONTROL_TLB_SELECT      0x2c
#define CONTROL_TLB_VSID        0x30
#define CONTROL_TLB_PAGE        0x34
#define CONTROL_TLB_WORD        0x38

/*
 * Reads a TLB: the number of sets (0: no device) and ways, and its entries, one set after the other. False: an invalid
 * entry.
 */
enum control_tlb { CONTROL_TLB_DATA, CONTROL_TLB_INSTRUCTION };
struct control_tlb_entry {
	u32 vsid;
	u32 page;                       /* EA[4-19], in place */
	u32 word;                       /* RPN, C, WIMG, PP, as in a PTE's second word */
};
u32 control_tlb_shape(enum control_tlb tlb, u32 *ways);
bool control_tlb_read(enum control_tlb tlb, u32 number, struct control_tlb_entry *out);

/* The event of CONTROL_FEATURE_CONTEXT: this VSID is in use from now on. */
void control_vsid_issued(u32 vsid);

#endif
