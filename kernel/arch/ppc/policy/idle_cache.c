/*
 * idle.cache: whether idle work may fill the caches.
 *
 * normal: it uses them as any code does, and its lines evict those of programs. locked: HID0[DLOCK] and HID0[ILOCK] are
 * set while a piece of idle work runs (603e and 604 manuals, 2.1.2: hits are served, misses bypass the cache), so that
 * it evicts nothing. off: a piece runs with both caches disabled. Nothing looks into disabled caches, so they are
 * flushed first, which evicts everything once for each piece. Interrupts that come meanwhile find the caches locked or
 * off; neither they nor idle work use dcbz, which would then take an alignment exception.
 */
#include <arch.h>
#include <arch/caches.h>
#include <arch/core.h>
#include <errno.h>
#include <policy.h>
#include <sched.h>

bool idle_caches_locked;
static u64 careful_runs;        /* with the caches locked or off */
static bool (*run_plainly)(bool (*work)(void));

static void set_hid0(u32 clear, u32 set)
{
	u32 hid0;

	__asm__ volatile("mfspr %0, %1" : "=r"(hid0) : "i"(SPR_HID0));
	hid0 = (hid0 & ~clear) | set;
	__asm__ volatile("sync; isync; mtspr %0, %1; sync; isync" : : "i"(SPR_HID0), "r"(hid0) : "memory");
}

static bool run_locked(bool (*work)(void))
{
	bool worked;

	set_hid0(0, HID0_DLOCK | HID0_ILOCK);
	worked = work();
	set_hid0(HID0_DLOCK | HID0_ILOCK, 0);
	careful_runs++;
	return worked;
}

static bool run_without(bool (*work)(void))
{
	bool worked;

	caches_off();
	worked = work();
	caches_on();
	careful_runs++;
	return worked;
}

static int idle_cache_apply(const struct policy_setting *to)
{
	int error = to->choice == 2 ? caches_flush_prepare() : 0;

	if (error)
		return error;
	if (to->choice && (!cpu_core->hid0_caches || (to->choice == 2 && arch_cpu.dcache_size > CACHES_OFF_MOST)))
		return -ENODEV;
	if (!run_plainly)
		run_plainly = idle_run;
	idle_caches_locked = to->choice != 0;
	idle_run = to->choice == 0 ? run_plainly : to->choice == 1 ? run_locked : run_without;
	return 0;
}

POLICY(idle_cache, "idle.cache", CHOICES("normal", "locked", "off"), POLICY_ANY, idle_cache_apply, "careful_runs",
       &careful_runs);
