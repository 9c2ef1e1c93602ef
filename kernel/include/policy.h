/*
 * Policies: every optimisation is a named switch with a plain form.
 *
 *     static int apply(const struct policy_setting *to) { ... }
 *     POLICY(tlb_flush, "tlb.flush", CHOICES("search", "lazy"), POLICY_QUIESCED, apply,
 *            "contexts_renewed", &contexts_renewed);
 *
 * registers the policy; its first choice is the default. The same name is a
 * word of the kernel's command line and a line of /proc/policy. A choice that
 * ends in <n> takes a number there ("scatter:<n>", "<n>").
 *
 * apply() binds a choice: it stores a value, points an operations table, or
 * copies a code image to its vector. So a policy costs a hot path no test; the
 * one exception is fork.tables, which pagetable_make() looks at. It runs for every
 * policy at boot, once the page-table tree exists, and at each later change.
 */
#ifndef POLICY_H
#define POLICY_H

#include <types.h>

enum policy_when {
	POLICY_ANY,             /* any time */
	POLICY_QUIESCED,        /* translation caches are emptied around the change */
	POLICY_BOOT,            /* on the command line only */
};

struct policy_setting {
	unsigned choice;        /* index into choices */
	u32 value;              /* of a choice that ends in <n>, else 0 */
};

struct policy {
	const char *name;
	const char *const *choices;     /* ends with NULL */
	enum policy_when when;
	/* 0; -EINVAL: the value is out of range; -ENODEV: this choice has no meaning on this processor. */
	int (*apply)(const struct policy_setting *to);
	const char *counter_name;       /* what shows that it acted */
	const u64 *counter;
	struct policy_setting *now;
};

#define CHOICES(...) ((const char *const[]){ __VA_ARGS__, NULL })

#define POLICY(ident, name_, choices_, when_, apply_, counter_name_, counter_)          \
	static struct policy_setting policy_##ident##_now;                              \
	static const struct policy policy_##ident                                       \
		__attribute__((used, section(".policies"), aligned(4))) = {             \
		.name = (name_), .choices = (choices_), .when = (when_),                \
		.apply = (apply_), .counter_name = (counter_name_),                     \
		.counter = (counter_), .now = &policy_##ident##_now,                    \
	}

/*
 * Boot: notes the choice, which policy_apply_all() then binds. 0; -ENOENT: no such policy; -EINVAL: not one of its
 * choices; -ENODEV: it has no meaning on this processor.
 */
int policy_choose(const char *name, const char *value);
/* Binds every policy's choice; off with status 64 when one cannot be. */
void policy_apply_all(void);
/* Later changes, as /proc/policy makes them: also -EBUSY, at boot only. */
int policy_set(const char *name, const char *value);
/* "choice choice ..." of a policy into buffer; false: no such policy. */
bool policy_choices(const char *name, char *buffer, size_t size);

struct text;
/* /proc/policy: lines "name value [choice choice ...] when counter=n", and its store. */
void policy_show(struct text *text);
int policy_store(const char *words, size_t size);

#endif
