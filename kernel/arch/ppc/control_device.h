/* What only a PowerPC has of the control device (include/control.h). */
#ifndef CONTROL_DEVICE_H
#define CONTROL_DEVICE_H
#include <types.h>

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

#endif
