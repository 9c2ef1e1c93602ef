/*
 * execve. The new address space is built completely before the old one goes. All steps that can return an error to the
 * program come before exec_commit(), after which the old program is lost.
 */
#include <arch.h>
#include <arch/message.h>
#include <check.h>
#include <control.h>
#include <err.h>
#include <errno.h>
#include <file.h>
#include <fs.h>
#include <kmalloc.h>
#include <lib.h>
#include <mm.h>
#include <mmu.h>
#include <process.h>
#include <syscall.h>
#include <task.h>
#include <window.h>

#include "../task/internal.h"
#include "exec.h"

#define SCRIPT_LINE 256u

static void exec_set_name(struct exec *exec, const char *path)
{
	const char *slash = strrchr(path, '/');

	strlcpy(exec->name, slash ? slash + 1 : path, sizeof(exec->name));
}

static int find_name(struct exec *exec, int dirfd, const char *path, u32 flags, struct dentry **out)
{
	struct file *file;

	exec->reason = "cannot be opened";
	if (flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
		return -EINVAL;
	if (*path || !(flags & AT_EMPTY_PATH))
		return path_lookup(dirfd, path, flags & AT_SYMLINK_NOFOLLOW ? 0 : WALK_FOLLOW, out);
	file = fd_get(dirfd);
	if (!file)
		return -EBADF;
	*out = dentry_get(file->dentry);
	file_put(file);
	return 0;
}

/* Permission to execute a file does not require permission to read it. */
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

/* The interpreter opens the script again, through a descriptor that must still be open then. */
static bool is_readable_script(const struct exec *exec)
{
	return exec->dirfd == AT_FDCWD || exec->lookup[0] == '/' || !fd_cloexec(exec->dirfd);
}

/* Parses the line after #!: an interpreter and at most one option, which is the whole rest of the line. */
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

/* If the file is a script, opens its interpreter as exec->file and returns 1; else 0. */
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
	/* If the interpreter is a script itself, its path is in the prefix already. */
	error = exec->prefix.count ? 0 : exec_push_prefix(&exec->prefix, path, strlen(path));
	if (!error && option)
		error = exec_push_prefix(&exec->prefix, option, strlen(option));
	if (!error)
		error = exec_push_prefix(&exec->prefix, interpreter, strlen(interpreter));
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
	exec_set_name(exec, path);
	result = open_program(exec, exec->dirfd, exec->lookup, exec->flags);
	for (u32 depth = 0; !result || result == 1; depth++) {
		result = depth <= SCRIPT_DEPTH_MAX ? follow_script(exec, path) : -ELOOP;
		if (result != 1)
			break;
	}
	kfree(path);
	return result;
}

static bool is_traced_by_stranger(void)
{
	return current->trace.tracer && !current->trace.privileged;
}

/*
 * Whether a process without the new privileges could control the program: a tracer, or a process that shares its
 * working directory and root.
 */
static bool is_steered(void)
{
	const struct task *task;
	u32 own = 0;

	list_for_each_window(task, &current->process->threads, group_link)
		own += task->fs == current->fs;
	return is_traced_by_stranger() || current->fs->refs > own;
}

static void new_credentials(struct exec *exec)
{
	const struct inode *inode = exec->file->inode;
	struct credentials *cred = &exec->cred;

	*cred = current->cred;
	if (!current->process->no_new_privileges && !filesystem_refuses(inode->fs, MS_NOSUID) &&
	    (capable() || !is_steered())) {
		if (inode->mode & S_ISUID)
			cred->euid = inode->uid;
		if ((inode->mode & (S_ISGID | 0010)) == (S_ISGID | 0010))
			cred->egid = inode->gid;
	}
	cred->suid = cred->fsuid = cred->euid;
	cred->sgid = cred->fsgid = cred->egid;
	exec->secure = cred->uid != cred->euid || cred->gid != cred->egid;
}

static bool exec_gains(const struct exec *exec)
{
	return exec->cred.euid != current->cred.euid || exec->cred.egid != current->cred.egid;
}

static int build_address_space(struct exec *exec)
{
	struct mm *mm = current->next_mm = mm_create();
	int error;

	if (!mm)
		return -ENOMEM;
	mm->program.stack_limit = rlimit(RLIMIT_STACK);
	mm->program.address_limit = rlimit(RLIMIT_AS);
	mm->program.data_limit = rlimit(RLIMIT_DATA);
	mm->program.dumpable = exec->cred.uid == exec->cred.euid && exec->cred.gid == exec->cred.egid &&
		       !inode_permission(exec->file->inode, MAY_READ);
	interrupt_window();
	error = elf_load(mm, exec->file, &exec->image, &exec->reason);
	interrupt_window();
	if (!error)
		error = trampoline_map(mm);
	if (!error)
		error = exec_build_stack(exec);
	return error;
}

/* Ends every other thread; the caller becomes the leader if it was not. */
static int end_other_threads(void)
{
	struct process *process = current->process;

	if (process->thread_count > 1) {
		/* Another thread called execve first, or ends the process. */
		if (signal_fatal_pending())
			return -EAGAIN;
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

/* Whether another process uses the descriptor table. */
static bool shares_files(void)
{
	const struct task *task;
	u32 own = 0;

	list_for_each_window(task, &current->process->threads, group_link)
		own += task->files == current->files;
	return current->files->refs > own;
}

/*
 * Steps that can fail and that the program cannot notice. The process keeps its descriptor table, and its record locks,
 * unless another process shares the table.
 */
static int exec_prepare(void)
{
	int error = shares_files() ? files_unshare() : 0;

	if (!error && current->sighand->refs > 1) {
		struct sighand *own = sighand_new(current->sighand);

		if (!own)
			return -ENOMEM;
		sighand_put(current->sighand);
		current->sighand = own;
	}
	if (!error)
		error = end_other_threads();
	/* An ending thread may have shared the table with a new process. */
	return error ? error : files_unshare();
}

static void exec_commit(struct exec *exec)
{
	struct mm *old = current->mm;

	if (old) {
		futex_task_exit(current);
		current->left_futexes = false;
		vfork_done(current);
	}
	current->mm = current->next_mm;
	current->next_mm = NULL;
	mmu->activate(current->mm);
	check_everything("exec");
	if (old)
		mm_put(old);
	close_on_exec(current->files);
	signal_exec();
	posix_timers_drop(current->process);
	message_forget();
	current->cred = exec->cred;
	current->raises_privileges = false;
	current->restart = (struct restart){ 0 };
	current->set_child_tid = NULL;
	if (exec->secure)
		current->death_signal = 0;
	current->process->execed = true;
	current->process->private_barriers = false;
	memcpy(current->name, exec->name, sizeof(current->name));
	control_context((u32)current->tgid);
	control_command(exec->path);
	arch_task_exec(task_regs(current), exec->image.start, exec->stack_pointer);
	regs_no_call(task_regs(current));
	/* The old address space ends before the tracer stops the task for long. */
	deferred_run();
	trace_exec();
}

static int exec_try(struct exec *exec)
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
	if (current->next_mm)
		current->next_mm->executable = file_get(exec->file);
	else
		inode_allow_write(exec->file->inode);
	if (!error)
		error = exec_prepare();
	/*
	 * Check again: reading arguments and waiting for threads may have slept. What follows may sleep too: from now
	 * on only the superuser may attach.
	 */
	current->raises_privileges = exec_gains(exec) && !capable();
	if (!error && current->raises_privileges && is_steered())
		error = -EAGAIN;
	if (!error)
		exec_commit(exec);
	current->raises_privileges = false;
	return error;
}

static int exec_run(struct exec *exec)
{
	int error = exec_try(exec);
	struct mm *unused = current->next_mm;

	current->next_mm = NULL;
	if (unused)
		mm_put(unused);
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
	int error = exec_run(&exec);

	*reason = exec.reason;
	return error;
}

/* The program's name (AT_EXECFN): a path that leads to it while dirfd is open. */
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

	path = path_from_user(user_path);
	if (IS_ERR(path))
		return PTR_ERR(path);
	error = !*path && !(flags & AT_EMPTY_PATH) ? -ENOENT : current->over_limit && tasks_over_limit(0) ? -EAGAIN : 0;
	if (error) {
		kfree(path);
		return error;
	}
	current->over_limit = false;
	interrupt_window();
	exec.path = exec.lookup = path;
	if (dirfd != AT_FDCWD && path[0] != '/') {
		name = path_by_fd(dirfd, path);
		exec.path = name;
	}
	error = exec.path ? exec_run(&exec) : -ENOMEM;
	kfree(name);
	kfree(path);
	return error;
}
