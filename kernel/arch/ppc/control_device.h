/* The control device's kernel half (docs/interfaces.md, section 2). */
#ifndef CONTROL_DEVICE_H
#define CONTROL_DEVICE_H

#include <types.h>

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

#endif
