/* Short messages in front of all C code (gate.S), and what the rest of the kernel tells of them. */
#ifndef ARCH_MESSAGE_H
#define ARCH_MESSAGE_H
#include <message_gate.h>

#define MESSAGE_LEAN      8u    /* the entry is lean, nobody traces calls, and there is one processor */
#define MESSAGE_SEGMENTS  16u   /* a switch loads segment registers and does nothing more */
#define MESSAGE_RETURN    32u   /* a return to a program empties no cache */
#define MESSAGE_PRELOAD   64u   /* a switch prefetches nothing */
#define MESSAGE_ALL       127u
#define MESSAGE_BY_LAZY   0u    /* ready.queue=lazy: it makes no difference */
#define MESSAGE_AT_BOOT   (MESSAGE_BY_QUEUE | MESSAGE_RETURN | MESSAGE_PRELOAD)
#define MESSAGE_NEEDED MESSAGE_ALL
#define message_switch() rendezvous_switch_direct       /* of ipc.switch */

#endif
