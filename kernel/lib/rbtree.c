/* Red-black trees (Cormen et al., chapter 13), with NULL for the black leaves. */
#include <rbtree.h>

static void node_replace(struct rb_root *root, struct rb_node *old, struct rb_node *new)
{
	if (!old->parent)
		root->node = new;
	else if (old->parent->left == old)
		old->parent->left = new;
	else
		old->parent->right = new;
	if (new)
		new->parent = old->parent;
}

static void rotate_left(struct rb_root *root, struct rb_node *x)
{
	struct rb_node *y = x->right;

	x->right = y->left;
	if (y->left)
		y->left->parent = x;
	node_replace(root, x, y);
	y->left = x;
	x->parent = y;
	x->stale = y->stale = true;
}

static void rotate_right(struct rb_root *root, struct rb_node *x)
{
	struct rb_node *y = x->left;

	x->left = y->right;
	if (y->right)
		y->right->parent = x;
	node_replace(root, x, y);
	y->right = x;
	x->parent = y;
	x->stale = y->stale = true;
}

void rb_stale(struct rb_node *node)
{
	for (; node && !node->stale; node = node->parent)
		node->stale = true;
}

void rb_insert(struct rb_root *root, struct rb_node *node, struct rb_node *parent, struct rb_node **link)
{
	node->parent = parent;
	node->left = node->right = NULL;
	node->red = true;
	*link = node;
	node->stale = true;
	rb_stale(parent);

	while (node->parent && node->parent->red) {
		struct rb_node *up = node->parent, *grand = up->parent;
		bool left = up == grand->left;
		struct rb_node *uncle = left ? grand->right : grand->left;

		if (uncle && uncle->red) {
			up->red = uncle->red = false;
			grand->red = true;
			node = grand;
			continue;
		}
		if (node == (left ? up->right : up->left)) {
			if (left)
				rotate_left(root, up);
			else
				rotate_right(root, up);
			up = node;
		}
		up->red = false;
		grand->red = true;
		if (left)
			rotate_right(root, grand);
		else
			rotate_left(root, grand);
		break;
	}
	root->node->red = false;
}

static bool is_black(const struct rb_node *node)
{
	return !node || !node->red;
}

/* Restores the balance when paths through x, a child of parent, have one black node too few. */
static void erase_fix(struct rb_root *root, struct rb_node *x, struct rb_node *parent)
{
	while (x != root->node && is_black(x)) {
		bool left = x == parent->left;
		struct rb_node *sibling = left ? parent->right : parent->left;

		if (sibling->red) {
			sibling->red = false;
			parent->red = true;
			if (left)
				rotate_left(root, parent);
			else
				rotate_right(root, parent);
			sibling = left ? parent->right : parent->left;
		}
		struct rb_node *near = left ? sibling->left : sibling->right;
		struct rb_node *far = left ? sibling->right : sibling->left;

		if (is_black(near) && is_black(far)) {
			sibling->red = true;
			x = parent;
			parent = x->parent;
			continue;
		}
		if (is_black(far)) {
			near->red = false;
			sibling->red = true;
			if (left)
				rotate_right(root, sibling);
			else
				rotate_left(root, sibling);
			sibling = left ? parent->right : parent->left;
			far = left ? sibling->right : sibling->left;
		}
		sibling->red = parent->red;
		parent->red = false;
		far->red = false;
		if (left)
			rotate_left(root, parent);
		else
			rotate_right(root, parent);
		x = root->node;
		break;
	}
	if (x)
		x->red = false;
}

void rb_erase(struct rb_root *root, struct rb_node *node)
{
	struct rb_node *x, *parent;
	bool removed_black = !node->red;

	if (!node->left || !node->right) {
		x = node->left ? node->left : node->right;
		parent = node->parent;
		node_replace(root, node, x);
	} else {
		struct rb_node *next = node->right;

		while (next->left)
			next = next->left;
		removed_black = !next->red;
		x = next->right;
		if (next->parent == node) {
			parent = next;
		} else {
			parent = next->parent;
			node_replace(root, next, x);
			next->right = node->right;
			next->right->parent = next;
		}
		node_replace(root, node, next);
		next->left = node->left;
		next->left->parent = next;
		next->red = node->red;
		next->stale = node->stale;
	}
	rb_stale(parent);
	if (removed_black)
		erase_fix(root, x, parent);
}

struct rb_node *rb_first(const struct rb_root *root)
{
	struct rb_node *node = root->node;

	while (node && node->left)
		node = node->left;
	return node;
}

struct rb_node *rb_last(const struct rb_root *root)
{
	struct rb_node *node = root->node;

	while (node && node->right)
		node = node->right;
	return node;
}

struct rb_node *rb_next(const struct rb_node *node)
{
	if (node->right) {
		node = node->right;
		while (node->left)
			node = node->left;
		return (struct rb_node *)node;
	}
	while (node->parent && node == node->parent->right)
		node = node->parent;
	return node->parent;
}

struct rb_node *rb_prev(const struct rb_node *node)
{
	if (node->left) {
		node = node->left;
		while (node->right)
			node = node->right;
		return (struct rb_node *)node;
	}
	while (node->parent && node == node->parent->left)
		node = node->parent;
	return node->parent;
}
