/*
 * Core files: the memory and registers of a process that a signal ended, for a debugger, as an ELF file (core(5)).
 * Notes hold the registers of every thread and facts about the process; segments hold the memory that the process
 * wrote. Unchanged pages of its files are left out. Layouts: abi/elf.h, abi/elf_machine.h.
 */
#include <abi/elf.h>
#include <abi/elf_machine.h>
#include <arch.h>
#include <err.h>
#include <file.h>
#include <frame.h>
#include <kmalloc.h>
#include <lib.h>
#include <register_set.h>
#include <text.h>
#include <uaccess.h>
#include <window.h>

#include "../task/internal.h"

/* An area, and the number of its bytes that are written to the file. */
struct part {
	uaddr_t start, end;
	u32 size, flags;
};
#define PARTS_MAX 65534u        /* the most that an ELF header can count */

struct core {
	struct file *file;
	u64 at;                 /* bytes written */
	u32 limit;              /* RLIMIT_CORE */
	struct part *part;
	u32 count;
	struct text notes;
};

bool core_wanted(void)
{
	return rlimit(RLIMIT_CORE) >= PAGE_SIZE && current->mm->program.dumpable;
}

static void add_note(struct text *notes, u32 type, const void *data, size_t size)
{
	static const char zeros[4];
	struct note note = { .name_size = 5, .size = (u32)size, .type = type };

	text_write(notes, (const char *)&note, sizeof(note));
	text_write(notes, "CORE\0\0\0", 8);
	text_write(notes, data, size);
	text_write(notes, zeros, -size & 3);
}

static struct core_time core_time(u64 ns)
{
	return (struct core_time){ (s32)(ns / NSEC_PER_SEC), (s32)(ns % NSEC_PER_SEC / NSEC_PER_USEC) };
}

static s32 parent_pid(const struct process *process)
{
	return process->parent ? process->parent->pid : 0;
}

static void add_registers(struct text *notes, struct task *task, int sig)
{
	const struct process *process = task->process;
	struct register_set set;
	struct usage usage;
	struct prstatus status = {
		.sig = sig,
		.current_signal = (s16)sig,
		.pending = (u32)task->pending.set,
		.blocked = (u32)task->blocked,
		.pid = task->pid,
		.parent = parent_pid(process),
		.group = process->pgid,
		.session = process->sid,
		.children_user = core_time(process->children_usage.user_ns),
		.children_system = core_time(process->children_usage.system_ns),
		.has_fp = 1,
	};

	if (task == process->leader)
		process_usage(process, &usage);
	else
		task_usage(task, &usage);
	status.user = core_time(usage.user_ns);
	status.system = core_time(usage.system_ns);
	register_set_get(task, NT_PRSTATUS, &set);
	memcpy(status.regs, set.general, sizeof(status.regs));
	add_note(notes, NT_PRSTATUS, &status, sizeof(status));
}

static void add_fp(struct text *notes, struct task *task)
{
	struct register_set set;

	register_set_get(task, NT_PRFPREG, &set);
	add_note(notes, NT_PRFPREG, set.fp, sizeof(set.fp));
}

/* Adds the arguments, with blanks in place of the NULs between them. */
static void add_process(struct text *notes)
{
	const struct process *process = current->process;
	const struct mm *mm = current->mm;
	struct prpsinfo info = {
		.letter = 'R',
		.nice = (u8)current->nice,
		.uid = current->cred.uid,
		.gid = current->cred.gid,
		.pid = process->pid,
		.parent = parent_pid(process),
		.group = process->pgid,
		.session = process->sid,
	};
	size_t size = MIN(mm->program.arguments_end - mm->program.arguments_start, (u32)sizeof(info.arguments) - 1);

	memcpy(info.name, current->name, sizeof(info.name));
	if (mm_copy_from(current->mm, info.arguments, mm->program.arguments_start, size))
		size = 0;
	for (size_t i = 0; i < size; i++)
		if (!info.arguments[i])
			info.arguments[i] = ' ';
	add_note(notes, NT_PRPSINFO, &info, sizeof(info));
}

/*
 * Adds the mapped files: counts, then bounds and first pages, then names. A number is a 32-bit word, by the ABI. Other
 * tasks run between two areas, and those that share the address space may change it.
 */
static bool add_files(struct text *notes)
{
	struct text words = { .preemptible = true }, names = { .preemptible = true };
	char *buffer = kmalloc(PATH_MAX);
	u32 head[2] = { 0, PAGE_SIZE };
	const struct vma *vma;
	bool done;

	text_write(&words, (const char *)head, sizeof(head));
	for_each_area_meanwhile(vma, current->mm) {
		u32 place[3] = { vma->start, vma->end, vma->first_page };
		const char *name;

		if (!buffer || signal_fatal_pending())
			break;
		name = vma->flags & VM_KIND ? area_of(vma)->name(vma, buffer, PATH_MAX) : NULL;
		if (!name || *name != '/')
			continue;
		text_write(&words, (const char *)place, sizeof(place));
		text_write(&names, name, strlen(name) + 1);
		head[0]++;
	}
	done = buffer && !words.no_memory && !names.no_memory;
	if (done) {
		memcpy(words.buffer, head, sizeof(head));
		text_write(&words, names.buffer, names.len);
		add_note(notes, NT_FILE, words.buffer, words.len);
		done = !words.no_memory;
	}
	kfree(buffer);
	kfree(words.buffer);
	kfree(names.buffer);
	return done;
}

/* Writes the notes of each thread. The thread that took the signal comes first, as debuggers expect. */
static bool make_notes(struct core *core, const struct siginfo *info)
{
	struct text *notes = &core->notes;
	const struct mm *mm = current->mm;
	u8 whole_info[SIGINFO_SIZE] = { 0 };
	struct task *task;

	memcpy(whole_info, info, sizeof(*info));
	add_registers(notes, current, info->signo);
	add_process(notes);
	add_note(notes, NT_SIGINFO, whole_info, sizeof(whole_info));
	add_note(notes, NT_AUXV, mm->program.auxv, mm->program.auxv_count * sizeof(mm->program.auxv[0]));
	if (!add_files(notes))
		return false;
	add_fp(notes, current);
	/* The other threads wait until the file is written, so the list does not change. */
	list_for_each_entry(task, &current->process->threads, group_link) {
		preemption_point();
		if (task == current)
			continue;
		add_registers(notes, task, info->signo);
		add_fp(notes, task);
	}
	return !notes->no_memory;
}

/*
 * Whether the area shows the first page of an ELF file. It identifies the program or library, so it is written even if
 * unchanged.
 */
static bool begins_elf_file(const struct vma *vma)
{
	struct frame *frame = vma->first_page ? NULL : mm_frame_present(vma->mm, vma->start);
	bool begins;

	if (!frame)
		return false;
	begins = *(const u32 *)frame_kva(frame) == ELF_MAGIC;
	frame_put(frame);
	return begins;
}

/* Bytes to write: all of an area with pages of its own, the first page of an ELF file, else nothing. */
static u32 size_to_dump(const struct vma *vma)
{
	u32 whole = vma->end - vma->start;
	bool nameless = vma->inode && (!vma->file || !vma->inode->nlink);

	if (vma->flags & (VM_DEVICE | VM_DONTDUMP))
		return 0;
	if (nameless || (!(vma->flags & VM_SHARED) && vma_has_own_pages(vma)))
		return whole;
	return vma->inode && !(vma->flags & VM_SHARED) && vma->flags & VM_READ && begins_elf_file(vma) ? PAGE_SIZE : 0;
}

static bool list_parts(struct core *core)
{
	struct mm *mm = current->mm;
	u32 most = MIN(mm->area_count, PARTS_MAX);
	const struct vma *vma;

	core->part = kmalloc(most * sizeof(*core->part));
	if (!core->part)
		return false;
	for_each_area_meanwhile(vma, mm) {
		if (core->count == most)
			break;
		core->part[core->count++] = (struct part){
			.start = vma->start,
			.end = vma->end,
			.size = size_to_dump(vma),
			.flags = (vma->flags & VM_READ ? PF_R : 0) | (vma->flags & VM_WRITE ? PF_W : 0) |
				 (vma->flags & VM_EXEC ? PF_X : 0),
		};
	}
	return true;
}

/* Whether to write `size` more bytes: the limit permits them, and no SIGKILL has come. */
static bool goes_on(const struct core *core, size_t size)
{
	return core->at + size <= core->limit && !signal_fatal_pending();
}

static bool core_put(struct core *core, const void *data, size_t size)
{
	struct iter it;

	iter_init(&it, (void *)(uintptr_t)data, size, true);
	return goes_on(core, size) && core->file->ops->write(core->file, &it, &core->at) == (long)size;
}

/* Writes an area; pages that were never written become holes. */
static bool put_part(struct core *core, const struct part *part)
{
	for (u32 at = 0; at < part->size; at += PAGE_SIZE) {
		struct frame *frame = mm_frame_present(current->mm, part->start + at);
		bool done = goes_on(core, PAGE_SIZE);

		if (done && frame)
			done = core_put(core, frame_kva(frame), PAGE_SIZE);
		else if (done)
			core->at += PAGE_SIZE;
		if (frame)
			frame_put(frame);
		if (!done)
			return false;
		preemption_point();
	}
	return true;
}

static bool put_header(struct core *core, const struct program_header *header)
{
	return core_put(core, header, sizeof(*header));
}

static bool put_headers(struct core *core)
{
	uaddr_t start = sizeof(struct elf_header) + (core->count + 1) * sizeof(struct program_header);
	u32 offset = ALIGN_UP(start + (u32)core->notes.len, PAGE_SIZE);
	struct elf_header elf = {
		.magic = ELF_MAGIC,
		.class = ABI_ELF_CLASS,
		.data = ABI_ELF_DATA,
		.version = EV_CURRENT,
		.type = ET_CORE,
		.machine = ABI_ELF_MACHINE,
		.file_version = EV_CURRENT,
		.program_headers = sizeof(elf),
		.header_size = sizeof(elf),
		.program_header_size = sizeof(struct program_header),
		.program_header_count = (u16)(core->count + 1),
	};
	bool done = core_put(core, &elf, sizeof(elf)) &&
		    put_header(core, &(struct program_header){
					     .type = PT_NOTE, .offset = start, .file_size = (u32)core->notes.len });

	for (u32 i = 0; i < core->count && done; i++) {
		const struct part *part = &core->part[i];

		preemption_point();
		done = put_header(core, &(struct program_header){ .type = PT_LOAD,
								  .offset = offset,
								  .address = part->start,
								  .file_size = part->size,
								  .memory_size = part->end - part->start,
								  .flags = part->flags,
								  .align = PAGE_SIZE });
		offset += part->size;
	}
	return done;
}

/* Writes everything, as far as RLIMIT_CORE and memory permit. */
static void put_all(struct core *core)
{
	struct inode *inode = core->file->inode;
	bool done = put_headers(core) && core_put(core, core->notes.buffer, core->notes.len);

	core->at = ALIGN_UP(core->at, PAGE_SIZE);
	for (u32 i = 0; i < core->count && done; i++)
		done = put_part(core, &core->part[i]);
	/* The file ends with a hole. */
	if (core->at > inode->size && core->at <= core->limit && inode->ops->truncate)
		inode->ops->truncate(inode, core->at);
}

/*
 * Creates a new file, owned by the caller. Removes an older file of that name first; fails if another process creates
 * one meanwhile.
 */
static struct file *core_open(void)
{
	struct file *file;
	const struct inode *inode;

	file_unlink(CORE_NAME);
	file = file_open(CORE_NAME, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_LARGEFILE, 0600);
	if (IS_ERR(file))
		return NULL;
	inode = file->inode;
	if (S_ISREG(inode->mode) && (inode->mode & 0677) == 0600 && inode->nlink == 1 &&
	    inode->uid == current->cred.fsuid && file->ops->write)
		return file;
	file_put(file);
	return NULL;
}

bool core_write(const struct siginfo *info)
{
	struct core core = { .limit = rlimit(RLIMIT_CORE), .notes.preemptible = true };
	bool done = !signal_fatal_pending() && list_parts(&core) && make_notes(&core, info);

	if (done) {
		core.file = core_open();
		done = core.file != NULL;
	}
	if (done) {
		put_all(&core);
		file_put(core.file);
	}
	kfree(core.part);
	kfree(core.notes.buffer);
	return done;
}
