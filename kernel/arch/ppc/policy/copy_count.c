/*
 * copy.count: whether the kernel counts its copies by size and alignment, as Mackerras did (2003, section 3).
 *
 * off: it does not, and nothing is tested. on: user_copy and memcpy branch to forms that count; /proc/copies shows the
 * counts, and a write to it clears them. A memcpy of a whole page is not counted, because Linux has another routine for
 * it; a copy of a whole page to or from a program is. Linux moves one object of 1, 2, 4 or 8 bytes to or from a program
 * without its copy routine, so these count by themselves.
 */
#include <arch/copy.h>
#include <arch/image.h>
#include <frame.h>
#include <lib.h>
#include <policy.h>
#include <procfs.h>
#include <text.h>

#define SIZES 14u               /* by powers of two: up to 1, 2, 4 ... 4096 bytes, and more */

static struct counts {
	u64 calls, under_128, under_512, unaligned_8, sizes[SIZES];
} of_users, of_kernel;
static u64 copies_of_objects, copies_counted;
static u32 (*user_form)(void *to, const void *from, u32 n) = user_copy_plainly;
static void *(*kernel_form)(void *to, const void *from, size_t n) = memcpy_plainly;
static bool counting_on;

static u32 size_class(u32 n)
{
	u32 class = 0;

	while (class < SIZES - 1 && n > 1u << class)
		class++;
	return class;
}

static void copy_tally(struct counts *counts, const void *to, const void *from, u32 n)
{
	copies_counted++;
	counts->calls++;
	counts->under_128 += n < 128;
	counts->under_512 += n < 512;
	counts->unaligned_8 += ((vaddr_t)to | (vaddr_t)from) % 8 != 0;
	counts->sizes[size_class(n)]++;
}

static u32 user_copy_counted(void *to, const void *from, u32 n)
{
	if (n <= 8 && (n & (n - 1)) == 0)
		copies_of_objects++;
	else
		copy_tally(&of_users, to, from, n);
	return user_form(to, from, n);
}

static void *memcpy_counted(void *to, const void *from, size_t n)
{
	if (n != PAGE_SIZE)
		copy_tally(&of_kernel, to, from, n);
	return kernel_form(to, from, n);
}

static void show_counts(struct text *text, const char *name, const struct counts *counts)
{
	text_printf(text, "%s_calls %llu\n%s_under_128 %llu\n%s_under_512 %llu\n%s_unaligned_8 %llu\n", name, counts->calls,
		    name, counts->under_128, name, counts->under_512, name, counts->unaligned_8);
	for (u32 class = 0; class < SIZES - 1; class++)
		text_printf(text, "%s_to_%u %llu\n", name, 1u << class, counts->sizes[class]);
	text_printf(text, "%s_more %llu\n", name, counts->sizes[SIZES - 1]);
}

static void show_copies(struct text *text)
{
	show_counts(text, "memcpy", &of_kernel);
	show_counts(text, "user", &of_users);
	text_printf(text, "user_objects %llu\n", copies_of_objects);
}

static int clear_copies(const char *words, size_t size)
{
	(void)words;
	(void)size;
	memset(&of_users, 0, sizeof(of_users));
	memset(&of_kernel, 0, sizeof(of_kernel));
	copies_of_objects = 0;
	return 0;
}

static void copies_bind(void)
{
	const u32 *user = user_form == user_copy_plainly ? NULL : (const u32 *)user_form;
	const u32 *kernel = kernel_form == memcpy_plainly ? NULL : (const u32 *)kernel_form;

	code_divert(copy_first, counting_on ? (const u32 *)user_copy_counted : user, COPY_FIRST);
	code_divert((u32 *)memcpy, counting_on ? (const u32 *)memcpy_counted : kernel, COPY_FIRST);
}

void copy_bind(u32 (*user)(void *to, const void *from, u32 n), void *(*kernel)(void *to, const void *from, size_t n))
{
	user_form = user;
	kernel_form = kernel;
	copies_bind();
}

static int copy_count_apply(const struct policy_setting *to)
{
	counting_on = to->choice;
	copies_bind();
	return 0;
}

void copy_proc_init(void)
{
	proc_file("copies", show_copies, clear_copies);
}

POLICY(copy_count, "copy.count", CHOICES("off", "on"), POLICY_ANY, copy_count_apply, "counted", &copies_counted);
