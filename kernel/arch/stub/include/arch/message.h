/* Messages that pass without the C code of ipc: this architecture has none. */
#ifndef ARCH_MESSAGE_H
#define ARCH_MESSAGE_H
#include <types.h>

struct task;

#define MESSAGE_FAST     1u
#define MESSAGE_TO_PEER  2u
#define MESSAGE_BY_QUEUE 4u
#define MESSAGE_BY_LAZY  0u

static inline int message_choose(u32 form) { (void)form; return 0; }
static inline void message_allow(u32 what, bool on) { (void)what, (void)on; }
static inline void message_forget(void) { }
static inline void message_check_turns(void) { }
static inline void message_wait_begin(struct task *next, struct task *from) { (void)next, (void)from; }
static inline void message_wait_over(struct task *task) { (void)task; }
static inline void messages_account(void) { }
#define message_switch() rendezvous_switch_direct

#endif
