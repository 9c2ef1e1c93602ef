/* Address spaces by segment registers (603e manual, 5.4). */
#include <arch.h>
#include <arch/mmu.h>
#include <arch/vsid.h>
#include <procfs.h>
#include <text.h>

static inline void load_segments(const struct mm *mm)
{
	context_root(mm);
	segments_load(mm ? mm->context.segment_base : context_segment_base(CONTEXT_KERNEL), vsid_form.step);
}

void segments_load_context(const struct mm *mm)
{
	load_segments(mm);
}

NOINLINE CAUSE(switch) static void activate_without_context(struct mm *mm)
{
	context_enter(mm);
	load_segments(mm);
}

/* Short if mm already has a context: calls nothing before it ends. */
CAUSE(switch) void segments_activate(struct mm *mm)
{
	if (!mm || !context_live(mm)) {
		activate_without_context(mm);
		return;
	}
	this_cpu()->mm = mm;
	load_segments(mm);
}

void segments_kernel_context(void)
{
	u32 base = context_segment_base(CONTEXT_KERNEL);

	for (u32 segment = USER_END >> 28; segment < 16; segment++)
		__asm__ volatile("mtsrin %0, %1" : :
				 "r"(SR_KEY_USER | ((base + segment * vsid_form.step) & 0xffffff)), "r"(segment << 28));
	__asm__ volatile("isync" : : : "memory");
}

static void show_segments(struct text *text)
{
	for (u32 segment = 0; segment < 16; segment++) {
		u32 sr;

		__asm__ volatile("mfsrin %0, %1" : "=r"(sr) : "r"(segment << 28));
		text_printf(text, "%2u vsid %06x ks %u kp %u\n", segment, sr & 0xffffff, sr >> 30 & 1, sr >> 29 & 1);
	}
}

void segments_proc_init(void)
{
	proc_file("mmu/segments", show_segments, NULL);
}
