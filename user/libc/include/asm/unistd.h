/* Numbers of system calls on PPC32. Every call here is in Linux 2.1 and in all later versions. */
#ifndef PAGEWALK_ASM_UNISTD_H
#define PAGEWALK_ASM_UNISTD_H

#define __NR_exit         1
#define __NR_fork         2
#define __NR_read         3
#define __NR_write        4
#define __NR_open         5
#define __NR_close        6
#define __NR_unlink       10
#define __NR_execve       11
#define __NR_lseek        19
#define __NR_getpid       20
#define __NR_mount        21
#define __NR_pause        29
#define __NR_kill         37
#define __NR_mkdir        39
#define __NR_dup          41
#define __NR_pipe         42
#define __NR_brk          45
#define __NR_ioctl        54
#define __NR_dup2         63
#define __NR_getppid      64
#define __NR_setsid       66
#define __NR_sigaction    67
#define __NR_gettimeofday 78
#define __NR_reboot       88
#define __NR_mmap         90
#define __NR_munmap       91
#define __NR_socketcall   102
#define __NR_stat         106
#define __NR_wait4        114
#define __NR_mprotect     125
#define __NR_nanosleep    162
#define __NR_pwrite64     180

#endif
