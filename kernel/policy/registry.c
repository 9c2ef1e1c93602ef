/* The registry of policies: their names, choices, and when they may change. */
#include <arch.h>
#include <check.h>
#include <context.h>
#include <errno.h>
#include <lib.h>
#include <outside.h>
#include <policy.h>
#include <smp.h>
#include <text.h>

extern const struct policy policies_start[], policies_end[];

#define for_each_policy(p) for (const struct policy *p = policies_start; p < policies_end; p++)

static const struct policy *policy_find(const char *name)
{
	for_each_policy(p)
		if (strcmp(p->name, name) == 0)
			return p;
	return NULL;
}

/* The length of a choice's literal part, and whether a number follows it. */
static size_t choice_literal(const char *choice, bool *number)
{
	const char *open = strchr(choice, '<');

	*number = open != NULL;
	return open ? (size_t)(open - choice) : strlen(choice);
}

static int policy_parse(const struct policy *policy, const char *value, struct policy_setting *out)
{
	for (unsigned i = 0; policy->choices[i]; i++) {
		bool number;
		size_t length = choice_literal(policy->choices[i], &number);

		if (strncmp(value, policy->choices[i], length) != 0)
			continue;
		out->choice = i;
		out->value = 0;
		if (number ? parse_u32(value + length, &out->value) == 0 : value[length] == '\0')
			return 0;
	}
	return -EINVAL;
}

int policy_choose(const char *name, const char *value)
{
	const struct policy *policy = policy_find(name);

	return policy ? policy_parse(policy, value, policy->now) : -ENOENT;
}

static void show_value(const struct policy *policy, char *buffer, size_t size)
{
	const char *choice = policy->choices[policy->now->choice];
	bool number;
	size_t length = choice_literal(choice, &number);

	if (number)
		snprintf(buffer, size, "%.*s%u", (int)length, choice, policy->now->value);
	else
		strlcpy(buffer, choice, size);
}

bool policy_choices(const char *name, char *buffer, size_t size)
{
	const struct policy *policy = policy_find(name);
	size_t used = 0;

	if (!policy)
		return false;
	for (unsigned i = 0; policy->choices[i] && used < size; i++)
		used += (size_t)snprintf(buffer + used, size - used, i ? " %s" : "%s", policy->choices[i]);
	return true;
}

void policy_apply_all(void)
{
	for_each_policy(p) {
		int error = p->apply(p->now);

		if (error) {
			char value[32];

			show_value(p, value, sizeof(value));
			fatal(EXIT_COMMAND_LINE, "command line: \"%s=%s\": %s", p->name, value,
			      error == -ENODEV ? "has no meaning on this processor" :
			      error != -EOPNOTSUPP ? "out of range" :
			      SEVERAL ? "has no meaning on this processor beside others: it is for one processor" :
			      "has no meaning on this processor alone: it is for several processors");
		}
	}
}

/* For /proc/policy: changes a choice later; -EBUSY: it can change at boot only. */
static int policy_set(const char *name, const char *value)
{
	const struct policy *policy = policy_find(name);
	struct policy_setting to, before;
	u32 state;
	int error;

	if (!policy)
		return -ENOENT;
	error = policy_parse(policy, value, &to);
	if (error)
		return error;
	before = *policy->now;
	if (to.choice == before.choice && to.value == before.value)
		return 0;
	if (policy->when == POLICY_BOOT)
		return -EBUSY;
	state = irq_save();
	cpus_hold();
	*policy->now = to;
	error = policy->apply(&to);
	if (error)
		*policy->now = before;
	else if (policy->when == POLICY_QUIESCED)
		context_restart();
	cpus_release();
	check_everything("change of policy");
	irq_restore(state);
	return error == -EOPNOTSUPP ? -ENODEV : error;
}

void policy_show(struct text *text)
{
	static const char *const when[] = { "any", "quiesced", "boot" };

	arch_policies_account();
	outside_account();
	for_each_policy(p) {
		char value[32], choices[256];

		show_value(p, value, sizeof(value));
		policy_choices(p->name, choices, sizeof(choices));
		text_printf(text, "%s %s [%s] %s %s=%llu\n", p->name, value, choices, when[p->when], p->counter_name,
			    *p->counter);
	}
}

int policy_store(const char *words, size_t size)
{
	char line[256], *p = line;

	if (size >= sizeof(line))
		return -EINVAL;
	memcpy(line, words, size);
	line[size] = '\0';
	while (*p) {
		char *end = p, *equals;
		int error;

		while (*end && *end != ' ' && *end != '\n')
			end++;
		if (*end)
			*end++ = '\0';
		if (*p) {
			equals = strchr(p, '=');
			if (!equals)
				return -EINVAL;
			*equals = '\0';
			error = policy_set(p, equals + 1);
			if (error)
				return error;
		}
		p = end;
	}
	return 0;
}
