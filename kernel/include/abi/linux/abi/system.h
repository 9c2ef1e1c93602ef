/*
 * uname, sysinfo, prctl, capabilities, reboot, getrandom (uapi linux/utsname.h, sysinfo.h, prctl.h, capability.h,
 * reboot.h, random.h).
 */
#ifndef ABI_SYSTEM_H
#define ABI_SYSTEM_H
#include <types.h>

#define UTS_FIELD 65u
enum { UTS_SYSNAME, UTS_NODENAME, UTS_RELEASE, UTS_VERSION, UTS_MACHINE, UTS_DOMAINNAME, UTS_FIELDS };
struct utsname { char field[UTS_FIELDS][UTS_FIELD]; };

#define UTS_OLD_FIELD 9u

/* The structures that the older forms of uname return. */
struct oldutsname { char field[5][UTS_FIELD]; };
struct oldoldutsname { char field[5][UTS_OLD_FIELD]; };

/* Of a 32-bit program: 64 bytes. */
struct sysinfo {
	s32 uptime;
	u32 load[3];
	u32 total_ram, free_ram, shared_ram, buffer_ram, total_swap, free_swap;
	u16 processes, pad;
	u32 total_high, free_high, unit;
	u8 reserved[8];
};

#define PERSONALITY_QUERY 0xffffffffu

#define PR_SET_PDEATHSIG   1
#define PR_GET_PDEATHSIG   2
#define PR_GET_DUMPABLE    3
#define PR_SET_DUMPABLE    4
#define PR_SET_NAME        15
#define PR_GET_NAME        16
#define PR_GET_ENDIAN      19
#define PR_SET_TIMERSLACK  29
#define PR_GET_TIMERSLACK  30
#define PR_SET_CHILD_SUBREAPER 36
#define PR_GET_CHILD_SUBREAPER 37
#define PR_SET_NO_NEW_PRIVS 38
#define PR_GET_NO_NEW_PRIVS 39

#define REBOOT_MAGIC1   ((int)0xfee1dead)
#define REBOOT_RESTART  0x01234567u
#define REBOOT_HALT     0xcdef0123u
#define REBOOT_POWER_OFF 0x4321fedcu
#define REBOOT_CAD_ON   0x89abcdefu
#define REBOOT_CAD_OFF  0u

#define GRND_NONBLOCK 1u
#define GRND_RANDOM   2u
#define GRND_INSECURE 4u

#define CAPABILITY_VERSION_1 0x19980330u
#define CAPABILITY_VERSION_2 0x20071026u
#define CAPABILITY_VERSION_3 0x20080522u

struct cap_header { u32 version; s32 pid; };
struct cap_data { u32 effective, permitted, inheritable; };

#define CAPABILITY_LAST 40             /* number of the last capability that the ABI knows */

#endif
