/* Counts, for each user, the kernel memory of objects that outlive its processes or that no process has open. */
#include <account.h>
#include <kmalloc.h>
#include <list.h>

static struct list_head accounts = LIST_HEAD_INIT(accounts);

struct account *account_find(u32 uid)
{
	struct account *account;

	list_for_each_entry(account, &accounts, link)
		if (account->uid == uid)
			return account;
	return NULL;
}

struct account *account_of(u32 uid)
{
	struct account *account = account_find(uid);

	if (account)
		return account;
	account = kzalloc(sizeof(*account));
	if (!account)
		return NULL;
	account->uid = uid;
	list_add(&account->link, &accounts);
	return account;
}

void account_settle(struct account *account)
{
	if (account->rights || account->files_in_flight || account->queue_bytes || account->locks || account->epolls ||
	    account->inotifies || account->signals)
		return;
	list_del(&account->link);
	kfree(account);
}
