/* Shared by the files of /proc. */
#ifndef PROC_INTERNAL_H
#define PROC_INTERNAL_H
#include <file.h>
#include <fs.h>
#include <text.h>

struct task;

/* A registered directory or file. */
struct proc_node {
	struct list_head link;          /* parent's children */
	struct list_head children;
	const char *name;
	size_t len;
	u32 ino;
	bool directory;
	void (*show)(struct text *);
	int (*store)(const char *, size_t);
	const char *target;             /* a symbolic link's text */
};
extern struct proc_node proc_root_node;

/* As proc_file, in another tree of nodes; and a file system that shows such a tree. */
void proc_file_below(struct proc_node *root, const char *path, void (*show)(struct text *),
		     int (*store)(const char *, size_t));
struct filesystem *proc_filesystem_new(const char *type, const char *source, u32 magic, struct proc_node *root);

/* A file of a process. */
struct proc_entry {
	const char *name;
	u32 mode;
	void (*show)(struct text *, struct task *);
	int (*link)(struct task *, struct dentry **out);        /* exe, cwd, root: the target, referenced */
	int (*store)(struct task *, const char *, size_t);
	bool is_private;        /* who may trace the process may open it, and it shows the memory that it had then */
};
extern const struct proc_entry proc_entries[];
extern const unsigned proc_entry_count;

/* The object of an inode of /proc. */
enum proc_kind { PROC_NODE, PROC_SELF, PROC_TASK, PROC_ENTRY, PROC_TASKS, PROC_FDS, PROC_FD, PROC_INFOS, PROC_INFO };
struct proc_item {
	enum proc_kind kind;
	const struct proc_node *node;
	const struct proc_entry *entry;
	s32 pid;
	u64 start_ns;           /* of the process: distinguishes it from a later one with the same number */
	u32 mm;                 /* of a private file: the number of the address space; 0: none */
	bool thread;            /* below task/: the thread, not the process */
	int fd;
};

u32 proc_mm_number(const struct proc_item *);   /* of its process's address space now; 0: it has none */
struct dentry *proc_lookup(struct dentry *dir, const char *name, size_t len);
struct dentry *proc_dentry(struct dentry *dir, const char *name, size_t len, const struct proc_item *item, u32 mode,
			   u64 ino);
struct dentry *proc_lookup_node(struct dentry *dir, const struct proc_node *parent, const char *name, size_t len);
struct filesystem *procfs_new(const char *source);
void proc_sys_init(void);       /* stat/proc_sys.c: registers the files of /proc/sys */
extern const struct file_ops proc_dir_ops, proc_text_ops;

#endif
