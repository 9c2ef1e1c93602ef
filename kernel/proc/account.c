/* Counts, for each user, the kernel memory of objects that outlive its processes or that no process has open. */
#include <account.h>
#include <kmalloc.h>
#include <list.h>

static struct list_head accounts = LIST_HEAD_INIT(accounts);

struct account *account_of(u32 uid)
{
	struct account *a;

	list_for_each_entry(a, &accounts, link)
		if (a->uid == uid)
			return a;
	a = kzalloc(sizeof(*a));
	if (!a)
		return NULL;
	a->uid = uid;
	list_add(&a->link, &accounts);
	return a;
}

void account_settle(struct account *a)
{
	if (a->rights || a->files_in_flight || a->queue_bytes)
		return;
	list_del(&a->link);
	kfree(a);
}
