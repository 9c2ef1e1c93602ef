/* The initial stack of a program: arguments, environment, auxiliary vector. */
#include <abi/auxv.h>
#include <arch.h>
#include <errno.h>
#include <kernel_buffer.h>
#include <kmalloc.h>
#include <lib.h>
#include <mm.h>
#include <uaccess.h>
#include <window.h>

#include "exec.h"

#define STRING_MAX    131072u   /* bytes of one argument, with its NUL */
#define STACK_INITIAL 131072u   /* bytes of the stack's first area */
#define STRINGS_MAX   (6u << 20) /* bytes of arguments and environment, whatever the stack's limit is */

static int string_address(const struct strings *strings, u32 index, uaddr_t *address)
{
	if (strings->kernel)
		*address = (uaddr_t)strings->own[index];
	else if (!strings->user)
		*address = 0;
	else if (get_user(*address, strings->user + index))
		return -EFAULT;
	return 0;
}

/* As strnlen_user(), in pieces with preemption points between them. */
static long string_length(const char *user)
{
	u32 length = 0;

	while (length < STRING_MAX - 1) {
		u32 part = MIN(STRING_MAX - 1 - length, PAGE_SIZE);
		long found = strnlen_user(user + length, part);

		if (found != -ENAMETOOLONG)
			return found < 0 ? found : (long)length + found;
		length += part;
		preemption_point();
	}
	return -ENAMETOOLONG;
}

/* What strings and the pointers to them take of the stack. */
static u32 strings_room(const struct strings *strings)
{
	return strings->bytes + strings->count * sizeof(u32);
}

/* Counts the strings and their bytes, as long as they take at most `limit` bytes. */
static int strings_measure(struct strings *strings, u32 limit)
{
	strings->count = strings->bytes = 0;
	for (;;) {
		uaddr_t address;
		long length;
		int error = string_address(strings, strings->count, &address);

		if (error)
			return error;
		if (!address)
			return 0;
		length = strings->kernel ? (long)strlen((const char *)address) :
					   string_length((const char *)address);
		if (length < 0)
			return length == -ENAMETOOLONG ? -E2BIG : (int)length;
		strings->bytes += (u32)length + 1;
		strings->count++;
		preemption_point();
		if (signal_fatal_pending())
			return -EINTR;
		if (strings_room(strings) > limit)
			return -E2BIG;
	}
}

int exec_push_prefix(struct prefix *prefix, const char *text, u32 length)
{
	char *copy = kmalloc_text(text, length);

	if (!copy)
		return -ENOMEM;
	prefix->string[prefix->count++] = copy;
	prefix->bytes += length + 1;
	return 0;
}

/* Builds the new stack: the place of the next string, and the table of pointers to strings. */
struct stack_builder {
	struct mm *mm;
	uaddr_t string, string_end;
	uaddr_t table;
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

/* Copies a string. Other threads may change it meanwhile, but no more bytes are copied than were measured. */
static int put_user_string(struct stack_builder *stack, const char *user)
{
	long length = string_length(user);
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
		preemption_point();
	}
	stack->string += (u32)length + 1;
	return error;
}

static int put_strings(struct stack_builder *stack, const struct strings *strings, u32 first)
{
	for (u32 i = first; i < strings->count; i++) {
		uaddr_t address;
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
	ASSERT(mm->program.auxv_count + 2 <= ARRAY_SIZE(mm->program.auxv));
	mm->program.auxv[mm->program.auxv_count++] = type;
	mm->program.auxv[mm->program.auxv_count++] = value;
}

static void make_auxiliary(struct exec *exec, uaddr_t platform, uaddr_t random, uaddr_t name)
{
	struct mm *mm = current->next_mm;

	mm->program.auxv_count = 0;
	add_auxiliary(mm, AT_DCACHEBSIZE, arch_cpu.dcache_line);
	add_auxiliary(mm, AT_ICACHEBSIZE, arch_cpu.icache_line);
	add_auxiliary(mm, AT_UCACHEBSIZE, 0);
	add_auxiliary(mm, AT_HWCAP, arch_cpu.hwcap);
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
	struct mm *mm = current->next_mm;
	const struct prefix *prefix = &exec->prefix;
	u32 drop = prefix->drop_first && exec->argv.count ? 1 : 0;
	u32 argc = prefix->count + exec->argv.count - drop;
	u32 name_size = strlen(exec->path) + 1;
	uaddr_t name = USER_STACK_TOP - sizeof(u32) - name_size;
	uaddr_t strings = name - exec->envp.bytes - exec->argv.bytes - prefix->bytes;
	uaddr_t platform = ALIGN_DOWN(strings - 16, 16), random = platform - 16;
	u8 bytes[16];
	char platform_name[16];
	int error;

	arch_platform(platform_name, sizeof(platform_name));
	random_bytes(bytes, sizeof(bytes));
	make_auxiliary(exec, platform, random, name);
	exec->stack_pointer =
		ALIGN_DOWN(random - (argc + exec->envp.count + 3 + mm->program.auxv_count) * sizeof(u32), 16);
	ASSERT(USER_STACK_TOP - exec->stack_pointer <= needed);

	stack->string = strings;
	stack->string_end = name;
	stack->table = exec->stack_pointer;
	mm->program.stack_start = exec->stack_pointer;
	mm->program.arguments_start = strings;
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
	mm->program.arguments_end = mm->program.environment_start = stack->string;
	if (!error)
		error = put_strings(stack, &exec->envp, 0);
	mm->program.environment_end = stack->string;
	if (!error)
		error = mm_copy_to(mm, stack->table, mm->program.auxv, mm->program.auxv_count * sizeof(u32));
	return error;
}

int exec_build_stack(struct exec *exec)
{
	struct stack_builder stack = { .mm = current->next_mm };
	struct frame *frame;
	vaddr_t place = 0;
	/* As on Linux, arguments, environment and the pointers to them may take a quarter of the stack's limit. */
	u32 needed, limit = MIN(MAX(rlimit(RLIMIT_STACK) / 4, STRING_MAX), STRINGS_MAX);
	int error = strings_measure(&exec->argv, limit);

	if (!error)
		error = strings_measure(&exec->envp, limit - strings_room(&exec->argv));
	if (error)
		return error;
	if (strings_room(&exec->argv) + strings_room(&exec->envp) + exec->prefix.bytes > limit)
		return -E2BIG;
	/* Programs may rely on argv[0]. */
	if (!exec->argv.count && !exec->prefix.count)
		error = exec_push_prefix(&exec->prefix, "", 0);
	needed = exec->argv.bytes + exec->envp.bytes + exec->prefix.bytes + strlen(exec->path) +
		 (exec->argv.count + exec->envp.count + exec->prefix.count) * sizeof(u32) +
		 sizeof(current->next_mm->program.auxv) + 128;
	if (!error)
		error = mm_stack_init(current->next_mm, USER_STACK_TOP, ALIGN_UP(needed, PAGE_SIZE) + STACK_INITIAL);
	if (error)
		return error;
	frame = frame_alloc(FRAME_KERNEL);
	if (!frame)
		return -ENOMEM;
	stack.bounce = kernel_buffers->map(&place, 0, frame);
	error = fill_stack(exec, &stack, needed);
	kernel_buffers->unmap(&place, SHOOTDOWN_EXEC);
	frame_put(frame);
	return error;
}
