/* Doubly linked circular lists, linked through a member of their elements. */
#ifndef LIST_H
#define LIST_H
#include <stdbool.h>
#include <stddef.h>

struct list_head {
	struct list_head *next, *prev;
};

#define LIST_HEAD_INIT(name) { &(name), &(name) }

#define container_of(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))
#define list_entry(pointer, type, member) container_of(pointer, type, member)
#define list_first_entry(head, type, member) list_entry((head)->next, type, member)

#define list_for_each_entry(e, head, member)                                      \
	for (e = list_first_entry(head, __typeof__(*e), member); &e->member != (head); \
	     e = list_entry(e->member.next, __typeof__(*e), member))

/* The body may remove the element. */
#define list_for_each_entry_safe(e, n, head, member)                              \
	for (e = list_first_entry(head, __typeof__(*e), member),                   \
	    n = list_entry(e->member.next, __typeof__(*e), member);                \
	     &e->member != (head); e = n, n = list_entry(n->member.next, __typeof__(*n), member))

static inline void list_init(struct list_head *head)
{
	head->next = head->prev = head;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline bool list_single(const struct list_head *head)
{
	return head->next == head->prev && !list_empty(head);
}

static inline void list_insert(struct list_head *item, struct list_head *prev, struct list_head *next)
{
	item->prev = prev;
	item->next = next;
	prev->next = item;
	next->prev = item;
}

static inline void list_add(struct list_head *item, struct list_head *head)
{
	list_insert(item, head, head->next);
}

static inline void list_add_tail(struct list_head *item, struct list_head *head)
{
	list_insert(item, head->prev, head);
}

/* Leaves the item as an empty list, so that removing it again is harmless. */
static inline void list_del(struct list_head *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	list_init(item);
}

/* Puts all items of `from` before those of `to`. */
static inline void list_splice(struct list_head *from, struct list_head *to)
{
	if (list_empty(from))
		return;
	from->prev->next = to->next;
	to->next->prev = from->prev;
	to->next = from->next;
	from->next->prev = to;
	list_init(from);
}

#endif
