/* What the files of execve share: exec.c finds the program and changes over to it, exec_stack.c lays out its stack. */
#ifndef EXEC_H
#define EXEC_H

#include <task.h>
#include <types.h>

#include "internal.h"

#define SCRIPT_DEPTH_MAX 4

/* Argument and environment strings: of the caller's memory, or of the kernel's (init). */
struct strings {
	bool kernel;
	const u32 *user;                /* array of addresses, ends with 0; NULL is empty */
	const char *const *own;
	u32 count;
	u32 bytes;                      /* with the NULs */
};

/* What `#!` puts before the arguments, in reverse: each script pushes its path, its option, its interpreter. */
struct prefix {
	char *string[3 * SCRIPT_DEPTH_MAX];
	u32 count;
	u32 bytes;
	bool drop_first;                /* argv[0] is replaced by the script's path */
};

struct exec {
	const char *path;               /* as called: AT_EXECFN */
	int dirfd;                      /* where `lookup`, if relative, begins */
	const char *lookup;             /* as looked up; "" with AT_EMPTY_PATH: dirfd is the program */
	u32 flags;                      /* AT_* */
	char name[TASK_NAME_SIZE];
	struct file *file;              /* of the program itself, after scripts */
	struct strings argv, envp;
	struct prefix prefix;
	struct mm *mm;
	struct elf_image image;
	struct credentials cred;
	bool secure;                    /* set-user-ID or set-group-ID changed something */
	uaddr_t stack_pointer;
	const char *reason;
};

/* Puts a copy of the text before what is there; -ENOMEM. exec.c frees it. */
int exec_push_prefix(struct prefix *prefix, const char *text, u32 length);
/* The stack of exec->mm, its image loaded: arguments, environment, auxiliary vector; sets stack_pointer. 0 or an error. */
int exec_build_stack(struct exec *exec);

#endif
