/*
 * pin: which kernel pages are pinned in the TLBs of an MPC8xx (Tosatti 2005) or in that of a 405.
 *
 * off: none; entries of 4 KB compete with those of programs. text: one entry of 8 MB from the kernel's base in the
 * instruction TLB. base: in both TLBs. ram: for data up to 24 MB of RAM, and I/O. Reserved entries serve no other
 * page: a TLB with pinned ones has four fewer for 4 KB pages. A 405 has one TLB for both, and entries of 16 MB, so that
 * text and base are the same there. Other processors have kernel.map instead, and here off only.
 * Forms: soft8xx/pin.c, soft405/tlb.c.
 */
#include <arch/mmu.h>
#include <errno.h>
#include <policy.h>

static int pin_apply(const struct policy_setting *to)
{
	static const struct { u32 text, data; bool io; } forms[] = {
		{ 0, 0, false }, { 1, 0, false }, { 1, 1, false }, { 1, 3, true },
	};

	if (!backend->pin_kernel)
		return to->choice ? -ENODEV : 0;
	backend->pin_kernel(forms[to->choice].text, forms[to->choice].data, forms[to->choice].io);
	return 0;
}

POLICY(pin, "pin", CHOICES("off", "text", "base", "ram"), POLICY_QUIESCED, pin_apply, "pinned", &pinned_loaded);
