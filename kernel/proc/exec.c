/*
 * execve. The new address space is built complete beside the old one: every error that the program can be
 * told of comes before commit(), after which there is no way back.
 */
#include <arch.h>
#include <check.h>
#include <control.h>
#include <err.h>
#include <errno.h>
#include <file.h>
#include <fs.h>
#include <kmalloc.h>
#include <lib.h>
#include <mm.h>
#include <proc.h>
#include <syscall.h>
#include <uaccess.h>

#include "internal.h"

#define SCRIPT_DEPTH_MAX 4
#define SCRIPT_LINE      256u
#define STRING_MAX       131072u        /* bytes of one argument, with its NUL */
#define STACK_INITIAL    131072u        /* bytes of the stack's first area */

/* Auxiliary vector (uapi/linux/auxvec.h, asm/auxvec.h). */
enum {
	AT_NULL = 0, AT_PHDR = 3, AT_PHENT, AT_PHNUM, AT_PAGESZ, AT_BASE, AT_FLAGS, AT_ENTRY,
	AT_UID = 11, AT_EUID, AT_GID, AT_EGID, AT_PLATFORM, AT_HWCAP, AT_CLKTCK,
	AT_DCACHEBSIZE = 19, AT_ICACHEBSIZE, AT_UCACHEBSIZE, AT_SECURE = 23, AT_RANDOM = 25,
	AT_HWCAP2 = 26, AT_EXECFN = 31,
};

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
	u32 stack_pointer;
	const char *reason;
};

static int string_address(const struct strings *strings, u32 index, u32 *address)
{
	if (strings->kernel)
		*address = (u32)strings->own[index];
	else if (!strings->user)
		*address = 0;
	else if (get_user(*address, strings->user + index))
		return -EFAULT;
	return 0;
}

/* Counts and measures; the limit is Linux's: a quarter of the stack's limit, pointers included. */
static int measure(struct strings *strings, u32 limit)
{
	strings->count = strings->bytes = 0;
	for (;;) {
		u32 address;
		long length;
		int error = string_address(strings, strings->count, &address);

		if (error)
			return error;
		if (!address)
			return 0;
		length = strings->kernel ? (long)strlen((const char *)address) :
					   strnlen_user((const char *)address, STRING_MAX - 1);
		if (length < 0)
			return length == -ENAMETOOLONG ? -E2BIG : (int)length;
		strings->bytes += (u32)length + 1;
		strings->count++;
		if (strings->bytes + strings->count * sizeof(u32) > limit)
			return -E2BIG;
	}
}

static int push_prefix(struct prefix *prefix, const char *text, u32 length)
{
	char *copy = kmalloc(length + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, length);
	copy[length] = 0;
	prefix->string[prefix->count++] = copy;
	prefix->bytes += length + 1;
	return 0;
}

static void set_name(struct exec *exec, const char *path)
{
	const char *slash = strrchr(path, '/');

	strlcpy(exec->name, slash ? slash + 1 : path, sizeof(exec->name));
}

static int find_name(struct exec *exec, int dirfd, const char *path, u32 flags, struct dentry **out)
{
	struct file *file;

	exec->reason = "cannot be opened";
	if (*path || !(flags & AT_EMPTY_PATH))
		return path_lookup(dirfd, path, flags & AT_SYMLINK_NOFOLLOW ? 0 : WALK_FOLLOW, out);
	file = fd_get(dirfd);
	if (!file)
		return -EBADF;
	*out = dentry_get(file->dentry);
	file_put(file);
	return 0;
}

/* Who may execute a file need not be allowed to read it. */
static int open_program(struct exec *exec, int dirfd, const char *path, u32 flags)
{
	struct dentry *dentry;
	struct file *file;
	int error = find_name(exec, dirfd, path, flags, &dentry);

	if (error)
		return error;
	exec->reason = "not an executable file";
	if (S_ISLNK(dentry->inode->mode))
		error = -ELOOP;
	else
		error = S_ISREG(dentry->inode->mode) ? inode_permission(dentry->inode, MAY_EXEC) : -EACCES;
	file = error ? ERR_PTR(error) : file_open_dentry(dentry, O_RDONLY);
	dentry_put(dentry);
	if (IS_ERR(file))
		return (int)PTR_ERR(file);
	exec->file = file;
	exec->reason = NULL;
	return 0;
}

/* A script is read once more, by its interpreter: by a descriptor that is still open then. */
static bool is_readable_script(const struct exec *exec)
{
	return exec->dirfd == AT_FDCWD || exec->lookup[0] == '/' || !fd_cloexec(exec->dirfd);
}

/* The line after #!: an interpreter and at most one option, which is all the rest of the line. */
static int parse_script(char *line, long size, char **interpreter, char **option)
{
	char *end = memchr(line, '\n', (size_t)size), *at = line + 2;

	if (!end) {
		if (size == SCRIPT_LINE && !strchr(line + 2, ' ') && !strchr(line + 2, '\t'))
			return -ENOEXEC;        /* the name itself is cut off */
		end = line + size;
	}
	while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*end = 0;
	while (*at == ' ' || *at == '\t')
		at++;
	if (!*at)
		return -ENOEXEC;
	*interpreter = at;
	while (*at && *at != ' ' && *at != '\t')
		at++;
	if (*at)
		*at++ = 0;
	while (*at == ' ' || *at == '\t')
		at++;
	*option = *at ? at : NULL;
	return 0;
}

/* 1: the file is a script, and exec->file its interpreter now; 0: it is none. */
static int follow_script(struct exec *exec, char *path)
{
	char line[SCRIPT_LINE + 1], *interpreter, *option;
	long size = file_read_kernel(exec->file, line, SCRIPT_LINE, 0);
	int error;

	if (size < 0)
		return (int)size;
	line[size] = 0;
	if (size < 2 || line[0] != '#' || line[1] != '!')
		return 0;
	if (!is_readable_script(exec))
		return -ENOENT;
	error = parse_script(line, size, &interpreter, &option);
	if (error)
		return error;
	/* An interpreter that is a script itself is in its place already. */
	error = exec->prefix.count ? 0 : push_prefix(&exec->prefix, path, strlen(path));
	if (!error && option)
		error = push_prefix(&exec->prefix, option, strlen(option));
	if (!error)
		error = push_prefix(&exec->prefix, interpreter, strlen(interpreter));
	if (error)
		return error;
	exec->prefix.drop_first = true;
	strlcpy(path, interpreter, PATH_MAX);
	file_put(exec->file);
	exec->file = NULL;
	error = open_program(exec, AT_FDCWD, path, 0);
	return error ? error : 1;
}

static int find_program(struct exec *exec)
{
	char *path = kmalloc(PATH_MAX);
	int result;

	if (!path)
		return -ENOMEM;
	strlcpy(path, exec->path, PATH_MAX);
	set_name(exec, path);
	result = open_program(exec, exec->dirfd, exec->lookup, exec->flags);
	for (u32 depth = 0; !result || result == 1; depth++) {
		result = depth <= SCRIPT_DEPTH_MAX ? follow_script(exec, path) : -ELOOP;
		if (result != 1)
			break;
	}
	kfree(path);
	return result;
}

/* Where the next string goes on the new stack, and the table of pointers that is filled meanwhile. */
struct stack_builder {
	struct mm *mm;
	u32 string, string_end;
	u32 table;
	char *bounce;           /* one page */
};

static int put_word(struct stack_builder *stack, u32 word)
{
	int error = mm_copy_to(stack->mm, stack->table, &word, sizeof(word));

	stack->table += sizeof(word);
	return error;
}

static int put_kernel_string(struct stack_builder *stack, const char *text)
{
	u32 size = strlen(text) + 1;
	int error = put_word(stack, stack->string);

	if (!error)
		error = mm_copy_to(stack->mm, stack->string, text, size);
	stack->string += size;
	return error;
}

/* The caller's other threads may change the strings meanwhile; they never outgrow what was measured. */
static int put_user_string(struct stack_builder *stack, const char *user)
{
	long length = strnlen_user(user, STRING_MAX - 1);
	u32 at = 0;
	int error;

	if (length < 0)
		return -EFAULT;
	if ((u32)length + 1 > stack->string_end - stack->string)
		return -E2BIG;
	error = put_word(stack, stack->string);
	while (!error && at <= (u32)length) {
		u32 n = MIN((u32)length + 1 - at, PAGE_SIZE);

		if (copy_from_user(stack->bounce, user + at, n))
			return -EFAULT;
		if (at + n > (u32)length)
			stack->bounce[n - 1] = 0;
		error = mm_copy_to(stack->mm, stack->string + at, stack->bounce, n);
		at += n;
	}
	stack->string += (u32)length + 1;
	return error;
}

static int put_strings(struct stack_builder *stack, const struct strings *strings, u32 first)
{
	for (u32 i = first; i < strings->count; i++) {
		u32 address;
		int error = string_address(strings, i, &address);

		if (!error)
			error = strings->kernel ? put_kernel_string(stack, (const char *)address) :
						  put_user_string(stack, (const char *)address);
		if (error)
			return error;
	}
	return put_word(stack, 0);
}

static void add_auxiliary(struct mm *mm, u32 type, u32 value)
{
	ASSERT(mm->auxv_count + 2 <= ARRAY_SIZE(mm->auxv));
	mm->auxv[mm->auxv_count++] = type;
	mm->auxv[mm->auxv_count++] = value;
}

static void make_auxiliary(struct exec *exec, u32 platform, u32 random, u32 name)
{
	struct mm *mm = exec->mm;

	mm->auxv_count = 0;
	add_auxiliary(mm, AT_DCACHEBSIZE, arch_cpu.dcache_line);
	add_auxiliary(mm, AT_ICACHEBSIZE, arch_cpu.icache_line);
	add_auxiliary(mm, AT_UCACHEBSIZE, 0);
	add_auxiliary(mm, AT_HWCAP, ARCH_HWCAP);
	add_auxiliary(mm, AT_PAGESZ, PAGE_SIZE);
	add_auxiliary(mm, AT_CLKTCK, HZ);
	add_auxiliary(mm, AT_PHDR, exec->image.headers);
	add_auxiliary(mm, AT_PHENT, 32);
	add_auxiliary(mm, AT_PHNUM, exec->image.header_count);
	add_auxiliary(mm, AT_BASE, exec->image.interpreter_base);
	add_auxiliary(mm, AT_FLAGS, 0);
	add_auxiliary(mm, AT_ENTRY, exec->image.entry);
	add_auxiliary(mm, AT_UID, exec->cred.uid);
	add_auxiliary(mm, AT_EUID, exec->cred.euid);
	add_auxiliary(mm, AT_GID, exec->cred.gid);
	add_auxiliary(mm, AT_EGID, exec->cred.egid);
	add_auxiliary(mm, AT_SECURE, exec->secure);
	add_auxiliary(mm, AT_RANDOM, random);
	add_auxiliary(mm, AT_HWCAP2, 0);
	add_auxiliary(mm, AT_EXECFN, name);
	add_auxiliary(mm, AT_PLATFORM, platform);
	add_auxiliary(mm, AT_NULL, 0);
}

/* From the top: path, environment, arguments, platform, random bytes; then auxv, envp, argv, argc. */
static int fill_stack(struct exec *exec, struct stack_builder *stack, u32 needed)
{
	struct mm *mm = exec->mm;
	const struct prefix *prefix = &exec->prefix;
	u32 drop = prefix->drop_first && exec->argv.count ? 1 : 0;
	u32 argc = prefix->count + exec->argv.count - drop;
	u32 name_size = strlen(exec->path) + 1;
	u32 name = USER_STACK_TOP - sizeof(u32) - name_size;
	u32 strings = name - exec->envp.bytes - exec->argv.bytes - prefix->bytes;
	u32 platform = (strings - 16) & ~15u, random = platform - 16;
	u8 bytes[16];
	char platform_name[16];
	int error;

	snprintf(platform_name, sizeof(platform_name), "ppc%.3s", arch_cpu.name);
	random_bytes(bytes, sizeof(bytes));
	make_auxiliary(exec, platform, random, name);
	exec->stack_pointer = (random - (argc + exec->envp.count + 3 + mm->auxv_count) * sizeof(u32)) & ~15u;
	ASSERT(USER_STACK_TOP - exec->stack_pointer <= needed);

	stack->string = strings;
	stack->string_end = name;
	stack->table = exec->stack_pointer;
	mm->stack_start = exec->stack_pointer;
	mm->arguments_start = strings;
	error = mm_copy_to(mm, name, exec->path, name_size);
	if (!error)
		error = mm_copy_to(mm, platform, platform_name, strlen(platform_name) + 1);
	if (!error)
		error = mm_copy_to(mm, random, bytes, sizeof(bytes));
	if (!error)
		error = put_word(stack, argc);
	for (u32 i = prefix->count; !error && i > 0; i--)
		error = put_kernel_string(stack, prefix->string[i - 1]);
	if (!error)
		error = put_strings(stack, &exec->argv, drop);
	mm->arguments_end = mm->environment_start = stack->string;
	if (!error)
		error = put_strings(stack, &exec->envp, 0);
	mm->environment_end = stack->string;
	if (!error)
		error = mm_copy_to(mm, stack->table, mm->auxv, mm->auxv_count * sizeof(u32));
	return error;
}

static int build_stack(struct exec *exec)
{
	struct stack_builder stack = { .mm = exec->mm };
	u32 needed, limit = MAX(rlimit(RLIMIT_STACK) / 4, STRING_MAX);
	int error = measure(&exec->argv, limit);

	if (!error)
		error = measure(&exec->envp, limit);
	if (error)
		return error;
	if (exec->argv.bytes + exec->envp.bytes + exec->prefix.bytes > limit)
		return -E2BIG;
	/* A program may count on argv[0]. */
	if (!exec->argv.count && !exec->prefix.count)
		error = push_prefix(&exec->prefix, "", 0);
	needed = exec->argv.bytes + exec->envp.bytes + exec->prefix.bytes + strlen(exec->path) +
		 (exec->argv.count + exec->envp.count + exec->prefix.count) * sizeof(u32) +
		 sizeof(exec->mm->auxv) + 128;
	if (!error)
		error = mm_stack_init(exec->mm, USER_STACK_TOP, ALIGN_UP(needed, PAGE_SIZE) + STACK_INITIAL);
	if (error)
		return error;
	stack.bounce = kmalloc(PAGE_SIZE);
	if (!stack.bounce)
		return -ENOMEM;
	error = fill_stack(exec, &stack, needed);
	kfree(stack.bounce);
	return error;
}

static void new_credentials(struct exec *exec)
{
	const struct inode *inode = exec->file->inode;
	struct credentials *cred = &exec->cred;

	*cred = current->cred;
	if (current->process->no_new_privileges)
		return;
	if (inode->mode & S_ISUID)
		cred->euid = inode->uid;
	if ((inode->mode & (S_ISGID | 0010)) == (S_ISGID | 0010))
		cred->egid = inode->gid;
	cred->suid = cred->fsuid = cred->euid;
	cred->sgid = cred->fsgid = cred->egid;
	exec->secure = cred->uid != cred->euid || cred->gid != cred->egid;
}

static int build_address_space(struct exec *exec)
{
	struct mm *mm = exec->mm = mm_create();
	int error;

	if (!mm)
		return -ENOMEM;
	mm->stack_limit = rlimit(RLIMIT_STACK);
	mm->address_limit = rlimit(RLIMIT_AS);
	mm->data_limit = rlimit(RLIMIT_DATA);
	error = elf_load(mm, exec->file, &exec->image, &exec->reason);
	if (!error)
		error = trampoline_map(mm);
	if (!error)
		error = build_stack(exec);
	return error;
}

/* Every other thread ends; the caller becomes the leader if it was not. */
static int end_other_threads(void)
{
	struct process *process = current->process;

	if (process->thread_count > 1) {
		process_kill_threads(process);
		if (wait_event_killable(&process->exec_wait, process->thread_count == 1))
			return -EAGAIN;
	}
	if (process->leader != current) {
		task_free(process->leader);
		process->leader = current;
		task_rename(current, process->pid);
	}
	return 0;
}

/* What can fail but changes nothing that the program could see. */
static int prepare(void)
{
	int error = files_unshare();

	if (!error && current->sighand->refs > 1) {
		struct sighand *own = sighand_new(current->sighand);

		if (!own)
			return -ENOMEM;
		sighand_put(current->sighand);
		current->sighand = own;
	}
	return error ? error : end_other_threads();
}

static void commit(struct exec *exec)
{
	struct mm *old = current->mm;

	if (old) {
		futex_task_exit(current);
		vfork_done(current);
	}
	current->mm = exec->mm;
	exec->mm = NULL;
	sched_activate(current->mm);
	check_everything("exec");
	if (old)
		mm_put(old);
	close_on_exec(current->files);
	signal_exec();
	posix_timers_drop(current->process);
	current->cred = exec->cred;
	current->restart = (struct restart){ 0 };
	current->set_child_tid = NULL;
	if (exec->secure)
		current->death_signal = 0;
	current->process->execed = true;
	memcpy(current->name, exec->name, sizeof(current->name));
	control_context((u32)current->tgid);
	control_command(exec->path);
	arch_task_exec(task_regs(current), exec->image.start, exec->stack_pointer);
	task_regs(current)->trap = 0;   /* not a call that returns */
}

static int run(struct exec *exec)
{
	int error = find_program(exec);

	if (error)
		return error;
	error = inode_deny_write(exec->file->inode);
	if (error) {
		exec->reason = "is open for writing";
		return error;
	}
	new_credentials(exec);
	error = build_address_space(exec);
	if (exec->mm) {
		exec->mm->executable = file_get(exec->file);
	} else {
		inode_allow_write(exec->file->inode);
	}
	if (!error)
		error = prepare();
	if (!error)
		commit(exec);
	return error;
}

static int execute(struct exec *exec)
{
	int error = run(exec);

	if (exec->mm)
		mm_put(exec->mm);
	if (exec->file)
		file_put(exec->file);
	for (u32 i = 0; i < exec->prefix.count; i++)
		kfree(exec->prefix.string[i]);
	return error;
}

int exec_kernel(const char *path, const char *const *argv, const char *const *envp, const char **reason)
{
	struct exec exec = {
		.path = path,
		.dirfd = AT_FDCWD,
		.lookup = path,
		.argv = { .kernel = true, .own = argv },
		.envp = { .kernel = true, .own = envp },
	};
	int error = execute(&exec);

	*reason = exec.reason;
	return error;
}

/* What the program is told that it was called by: a path that leads to it while dirfd is open. */
static char *path_by_fd(int dirfd, const char *path)
{
	u32 room = strlen(path) + 24;
	char *name = kmalloc(room);

	if (name)
		snprintf(name, room, "/dev/fd/%d%s%s", dirfd, *path ? "/" : "", path);
	return name;
}

long sys_execveat(int dirfd, const char *user_path, const u32 *argv, const u32 *envp, u32 flags)
{
	struct exec exec = { .dirfd = dirfd, .flags = flags, .argv = { .user = argv }, .envp = { .user = envp } };
	char *path, *name = NULL;
	long error;

	if (flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
		return -EINVAL;
	path = path_from_user(user_path);
	if (IS_ERR(path))
		return PTR_ERR(path);
	exec.path = exec.lookup = path;
	if (dirfd != AT_FDCWD && path[0] != '/') {
		name = path_by_fd(dirfd, path);
		exec.path = name;
	}
	error = exec.path ? execute(&exec) : -ENOMEM;
	kfree(name);
	kfree(path);
	return error;
}

long sys_execve(const char *path, const u32 *argv, const u32 *envp)
{
	return sys_execveat(AT_FDCWD, path, argv, envp, 0);
}
