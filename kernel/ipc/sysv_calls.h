/* System V calls that ipc(2) reaches with other arguments than their own system call. */
#ifndef SYSV_CALLS_H
#define SYSV_CALLS_H
#include <types.h>

long shm_attach(int id, uaddr_t address, u32 flags, uaddr_t *at);

#endif
