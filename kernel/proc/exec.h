/* Shared by the files of execve: exec.c opens the program and commits to it, exec_stack.c builds its stack. */
#ifndef EXEC_H
#define EXEC_H
#include <task.h>
#include <types.h>

#include "../task/internal.h"

#define SCRIPT_DEPTH_MAX 4

/* Argument and environment strings, in the memory of the caller or, for init, of the kernel. */
struct strings {
	bool kernel;
	const u32 *user;                /* array of addresses, ends with 0; NULL is empty */
	const char *const *own;
	u32 count;
	u32 bytes;                      /* with the NULs */
};

/* The arguments that `#!` adds, in reverse: each script pushes its path, its option, its interpreter. */
struct prefix {
	char *string[3 * SCRIPT_DEPTH_MAX];
	u32 count;
	u32 bytes;
	bool drop_first;                /* the script's path replaces argv[0] */
};

struct exec {
	const char *path;               /* as called: AT_EXECFN */
	int dirfd;                      /* the directory of a relative `lookup` */
	const char *lookup;             /* the path to look up; "" with AT_EMPTY_PATH: dirfd itself */
	u32 flags;                      /* AT_* */
	char name[TASK_NAME_SIZE];
	struct file *file;              /* the program or interpreter to load */
	struct strings argv, envp;
	struct prefix prefix;
	struct elf_image image;
	struct credentials cred;
	bool secure;                    /* set-user-ID or set-group-ID changed something */
	uaddr_t stack_pointer;
	const char *reason;
};

/* Pushes a copy of the text; -ENOMEM. exec.c frees it. */
int exec_push_prefix(struct prefix *prefix, const char *text, u32 length);
/*
 * Builds the stack of current->next_mm after the image is loaded: arguments, environment, auxiliary vector. Sets
 * stack_pointer. 0 or an error.
 */
int exec_build_stack(struct exec *exec);

#endif
