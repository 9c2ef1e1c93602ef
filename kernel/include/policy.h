/*
 * Policies: every optimisation is a named switch with a plain form.
 *
 * This registers a policy, whose first choice is the default (POLICY_BUT names another one):
 *
 *     static int apply(const struct policy_setting *to) { ... }
 *     POLICY(tlb_flush, "tlb.flush", CHOICES("search", "lazy"), POLICY_QUIESCED, apply,
 *            "contexts_renewed", &contexts_renewed);
 *
 * Its name is also a word of the kernel's command line and a line of /proc/policy. A choice that ends in <n> takes a
 * number there ("scatter:<n>", "<n>").
 *
 * apply() binds a choice: it stores a value, points to a table of operations, or copies a code image to its vector, so
 * that a policy costs a hot path no test. It runs for every policy at boot, once the page-table tree exists, and at
 * each later change.
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
	/*
	 * 0; -EINVAL: the value is out of range; -ENODEV: this choice has no meaning on this processor; -EOPNOTSUPP: it
	 * is for one processor, or for several, and this is the other image.
	 */
	int (*apply)(const struct policy_setting *to);
	const char *counter_name;       /* the counter that proves that the policy acted */
	const u64 *counter;
	struct policy_setting *now;
};

#define CHOICES(...) ((const char *const[]){ __VA_ARGS__, NULL })

/*
 * The first choice is the form of the original kernel. Where that is a form which no kernel of today would have, such
 * as emptying the caches at every return, the default is another: `default_` is its index.
 */
#define POLICY_BUT(ident, name_, choices_, default_, when_, apply_, counter_name_, counter_) \
	static struct policy_setting policy_##ident##_now = { .choice = (default_) };   \
	static const struct policy policy_##ident                                       \
		__attribute__((used, section(".policies"), aligned(4))) = {             \
		.name = (name_), .choices = (choices_), .when = (when_),                \
		.apply = (apply_), .counter_name = (counter_name_),                     \
		.counter = (counter_), .now = &policy_##ident##_now,                    \
	}
#define POLICY(ident, name_, choices_, when_, apply_, counter_name_, counter_)          \
	POLICY_BUT(ident, name_, choices_, 0, when_, apply_, counter_name_, counter_)

/*
 * At boot: notes a choice, for policy_apply_all(). 0; -ENOENT: no such policy; -EINVAL: no such choice; -ENODEV: it
 * has no meaning on this processor.
 */
int policy_choose(const char *name, const char *value);
/* Binds every policy's choice; powers off with status 64 if one cannot be bound. */
void policy_apply_all(void);
/* Writes "choice choice ..." of a policy to buffer; false: no such policy. */
bool policy_choices(const char *name, char *buffer, size_t size);

struct text;
/* The text of /proc/policy, lines "name value [choice choice ...] when counter=n", and a write to it. */
void policy_show(struct text *text);
int policy_store(const char *words, size_t size);

#endif
