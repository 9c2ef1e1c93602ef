/*
 * Red-black trees, linked through a member of their elements. The caller compares elements. It may store facts about a
 * node's subtree in the element; a change below a node marks it and all nodes above it stale.
 */
#ifndef RBTREE_H
#define RBTREE_H
#include <list.h>
#include <types.h>

struct rb_node {
	struct rb_node *parent, *left, *right;
	bool red, stale;
};

struct rb_root {
	struct rb_node *node;
};

#define rb_entry(pointer, type, member) container_of(pointer, type, member)

/* Hangs node at *link, a NULL child of parent (or the root), and restores the balance. */
void rb_insert(struct rb_root *root, struct rb_node *node, struct rb_node *parent, struct rb_node **link);
void rb_erase(struct rb_root *root, struct rb_node *node);
void rb_stale(struct rb_node *node);     /* marks a node whose element changed; harmless for NULL */
struct rb_node *rb_first(const struct rb_root *root);
struct rb_node *rb_last(const struct rb_root *root);
struct rb_node *rb_next(const struct rb_node *node);
struct rb_node *rb_prev(const struct rb_node *node);

#endif
