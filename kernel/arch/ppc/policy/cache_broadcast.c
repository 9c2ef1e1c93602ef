/*
 * cache.broadcast: whether a 750 puts on the bus what dcbst, dcbf, sync and eieio do (HID0[ABE], IBM 750GX/GL User's
 * Manual p.134 and 135).
 *
 * on: each such instruction takes an address tenure, even if the cache does not hold the line. Linux for PowerPC set
 * this in 2003 (arch/ppc/kernel/cpu_setup_6xx.S, setup_750_7400_hid0), so that to make a page ready for instruction
 * fetch took a tenure for each line: the original of the paper of that year. off: only lines that are written back. A
 * single processor whose devices do not snoop needs no more, and Linux 2.1 had no more. One processor only.
 * Forms: caches.h, cpu.c.
 */
#include <arch/core.h>
#include <arch/reg.h>
#include <errno.h>
#include <policy.h>
#include <smp.h>

static u64 times_enabled;

static int cache_broadcast_apply(const struct policy_setting *to)
{
	u32 hid0;
	bool on = to->choice == 0;

	if (!cpu_core->broadcasts || SEVERAL)
		return !on ? 0 : cpu_core->broadcasts ? -EOPNOTSUPP : -ENODEV;
	__asm__ volatile("mfspr %0, %1" : "=r"(hid0) : "i"(SPR_HID0));
	hid0 = on ? hid0 | HID0_ABE : hid0 & ~HID0_ABE;
	__asm__ volatile("sync; isync; mtspr %0, %1; sync; isync" : : "i"(SPR_HID0), "r"(hid0) : "memory");
	times_enabled += on;
	return 0;
}

POLICY_BUT(cache_broadcast, "cache.broadcast", CHOICES("on", "off"), 1, POLICY_ANY, cache_broadcast_apply,
	   "times_enabled", &times_enabled);
