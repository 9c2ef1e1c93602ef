/* init on Linux, which must mount the file systems that programs expect, and must not end: that would be a panic. */
#include "board.h"
#include "syscall.h"
#include "system.h"

/* The register POWER_OFF of the control device's page for kernels (docs/interfaces.md, section 2). */
#define POWER_OFF 0xf08

const char control_path[] = "/dev/mem";
const unsigned long control_offset = BOARD_CONTROL + 0x1000ul;
const char *const control_variable = "PAGEWALK_CONTROL=/dev/mem";
const int has_unknown_words = 1;

/* Makes the devices that programs expect, on a kernel that does not make them itself. */
static void make_devices(void)
{
	enum { CHARACTER = 020666 };
	static const struct {
		const char *path;
		unsigned int major, minor;
	} devices[] = {
		{ "/dev/mem", 1, 1 },	 { "/dev/null", 1, 3 },	   { "/dev/zero", 1, 5 }, { "/dev/full", 1, 7 },
		{ "/dev/random", 1, 8 }, { "/dev/urandom", 1, 9 }, { "/dev/tty", 5, 0 },  { "/dev/ptmx", 5, 2 },
	};

	for (unsigned int i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
		system_call(__NR_mknod, (long)devices[i].path, CHARACTER,
			    (long)(devices[i].major << 8 | devices[i].minor), 0);
}

static const struct {
	const char *type, *place, *options;
	/* What to do if the kernel lacks it. */
	void (*otherwise)(void);
} file_systems[] = {
	{ "proc", "/proc", 0, 0 },
	{ "sysfs", "/sys", 0, 0 },
	{ "devtmpfs", "/dev", 0, make_devices },
	{ "devpts", "/dev/pts", "mode=620,ptmxmode=666", 0 },
	{ "tmpfs", "/dev/shm", 0, 0 },
};

/* Switches the loopback device on, as the first program of any system does. */
static void start_loopback(void)
{
	enum { AF_INET = 2, SOCK_DGRAM = 2, SIOCSIFFLAGS = 0x8914, IFF_UP = 1 };
	static struct {
		char name[16];
		short flags;
		char rest[14];
	} loopback = { "lo", IFF_UP, { 0 } };
	long fd = system_call(__NR_socket, AF_INET, SOCK_DGRAM, 0, 0);

	if (fd < 0)
		return;
	system_call(__NR_ioctl, fd, SIOCSIFFLAGS, (long)&loopback, 0);
	system_call(__NR_close, fd, 0, 0, 0);
}

/* A kernel without one of them runs programs that do not need it. /tmp is part of the root, which is a tmpfs. */
void prepare(void)
{
	for (unsigned int i = 0; i < sizeof(file_systems) / sizeof(file_systems[0]); i++) {
		long error;

		system_call(__NR_mkdir, (long)file_systems[i].place, 0755, 0, 0);
		error = system_call6(__NR_mount, (long)file_systems[i].type, (long)file_systems[i].place,
				     (long)file_systems[i].type, 0, (long)file_systems[i].options, 0);
		if (error && file_systems[i].otherwise)
			file_systems[i].otherwise();
	}
	start_loopback();
	/* The lab shows what comes after this line: early messages of Linux cannot be switched off. */
	say("init: ready\n");
}

int finish(int status)
{
	enum { MAGIC_1 = 0xfee1dead, MAGIC_2 = 0x28121969, RESTART = 0x01234567, TCSBRK = 0x2000741d, DRAIN = 1 };
	volatile unsigned int *control = map_page(control_path, BOARD_CONTROL);

	/* Linux sends by interrupts what programs have written to the console. */
	system_call(__NR_ioctl, 1, TCSBRK, DRAIN, 0);
	if (control)
		control[POWER_OFF / 4] = (unsigned int)status;
	/* The board's own reset ends the run too, but tells no status: the lab reads this line. */
	say("init: this kernel has no /dev/mem: counts are of the whole run; status ");
	say_number((unsigned long)status);
	say("\n");
	system_call(__NR_reboot, (long)MAGIC_1, MAGIC_2, RESTART, 0);
	return status;
}
