/*
 * Loading ELF programs: static ones, position-independent ones, and those with an interpreter. The headers are
 * untrusted: an inconsistent one gives ENOEXEC with the reason.
 */
#include <abi/elf.h>
#include <abi/elf_machine.h>
#include <abi/ucontext.h>
#include <arch.h>
#include <err.h>
#include <errno.h>
#include <file.h>
#include <fs.h>
#include <lib.h>
#include <mm.h>
#include <uaccess.h>

#include "../task/internal.h"

#define HEADERS_MAX   32u       /* program headers; static programs have about ten */

/* Base addresses of position-independent programs (ET_DYN) and of interpreters. */
#define PIE_BASE         0x10000000u
#define INTERPRETER_BASE 0x48000000u

struct program {
	struct elf_header header;
	struct program_header segment[HEADERS_MAX];
	u32 count;
	uaddr_t low, high;      /* addresses that its segments span */
	uaddr_t base;           /* added to every address */
};

static int elf_refuse(const char **reason, const char *what)
{
	*reason = what;
	return -ENOEXEC;
}

static int read_headers(struct file *file, struct program *program, const char **reason)
{
	struct elf_header *header = &program->header;
	u32 size;

	if (file_read_kernel(file, header, sizeof(*header), 0) != (long)sizeof(*header))
		return elf_refuse(reason, "shorter than an ELF header");
	if (header->magic != ELF_MAGIC)
		return elf_refuse(reason, "no ELF magic");
	if (header->class != ABI_ELF_CLASS || header->data != ABI_ELF_DATA)
		return elf_refuse(reason, "not a " ABI_ELF_FORM " ELF");
	if (header->machine != ABI_ELF_MACHINE)
		return elf_refuse(reason, "not for " ABI_ELF_FOR);
	if (header->type != ET_EXEC && header->type != ET_DYN)
		return elf_refuse(reason, "not an executable (ELF type)");
	if (header->program_header_size != sizeof(struct program_header))
		return elf_refuse(reason, "wrong size of a program header");
	if (!header->program_header_count || header->program_header_count > HEADERS_MAX)
		return elf_refuse(reason, "no program headers, or more than 32");
	program->count = header->program_header_count;
	size = program->count * sizeof(struct program_header);
	if (file_read_kernel(file, program->segment, size, header->program_headers) != (long)size)
		return elf_refuse(reason, "program headers beyond the end of the file");
	return 0;
}

static uaddr_t first_page(const struct program_header *segment)
{
	return ALIGN_DOWN((uaddr_t)segment->address, PAGE_SIZE);
}

/* Rejects segments that wrap around, overlap, or leave user space. */
static int check_segments(struct program *program, u64 file_size, const char **reason)
{
	uaddr_t end = 0;

	program->low = USER_END;
	for (u32 i = 0; i < program->count; i++) {
		const struct program_header *header = &program->segment[i];
		uaddr_t size = header->memory_size;

		if (header->type != PT_LOAD || !size)
			continue;
		if (header->file_size > header->memory_size)
			return elf_refuse(reason, "segment with more bytes in the file than in memory");
		if ((header->address ^ header->offset) & (PAGE_SIZE - 1))
			return elf_refuse(reason, "segment whose address and file offset differ within a page");
		if (size > USER_STACK_TOP || header->address > USER_STACK_TOP - size)
			return elf_refuse(reason, "segment outside of user space");
		if ((u64)header->offset + header->file_size > file_size)
			return elf_refuse(reason, "segment beyond the end of the file");
		if (program->low == USER_END)
			program->low = first_page(header);
		else if (first_page(header) < ALIGN_UP(end, PAGE_SIZE))
			return elf_refuse(reason, "segments that overlap or are out of order");
		end = header->address + header->memory_size;
	}
	program->high = ALIGN_UP(end, PAGE_SIZE);
	if (!end)
		return elf_refuse(reason, "no segment to load");
	if (program->header.type == ET_EXEC && program->low < TRAMPOLINE_ADDRESS + PAGE_SIZE)
		return elf_refuse(reason, "segment in the lowest megabyte");
	return 0;
}

static u32 segment_protection(u32 flags)
{
	return ((flags & PF_R) ? PROT_READ : 0) | ((flags & PF_W) ? PROT_WRITE : 0) | ((flags & PF_X) ? PROT_EXEC : 0);
}

/* Maps a segment: the file's part, the zeros in its last page, and the zero pages after it. */
static int map_segment(struct mm *mm, struct file *file, const struct program *program,
		       const struct program_header *header)
{
	static const u8 zeros[256];
	uaddr_t start = first_page(header) + program->base;
	uaddr_t file_end = header->address + header->file_size + program->base;
	uaddr_t end = ALIGN_UP((uaddr_t)header->address + header->memory_size, PAGE_SIZE) + program->base;
	uaddr_t file_pages_end = header->file_size ? ALIGN_UP(file_end, PAGE_SIZE) : start;
	uaddr_t result;
	u32 prot = segment_protection(header->flags);

	if (header->file_size) {
		result = mm_map(mm, start, file_pages_end - start, prot, MAP_PRIVATE | MAP_FIXED, file,
				header->offset >> PAGE_SHIFT);
		if (IS_ERR_VALUE(result))
			return (int)result;
	}
	if (end > file_pages_end) {
		result = mm_map(mm, file_pages_end, end - file_pages_end, prot,
				MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, NULL, 0);
		if (IS_ERR_VALUE(result))
			return (int)result;
	}
	if (header->memory_size == header->file_size || !header->file_size || !(header->flags & PF_W))
		return 0;
	for (uaddr_t at = file_end; at < file_pages_end; at += MIN(sizeof(zeros), file_pages_end - at)) {
		int error = mm_copy_to(mm, at, zeros, MIN(sizeof(zeros), file_pages_end - at));

		if (error)
			return error;
	}
	return 0;
}

static void note_layout(struct mm *mm, const struct program *program)
{
	for (u32 i = 0; i < program->count; i++) {
		const struct program_header *header = &program->segment[i];
		uaddr_t start = header->address + program->base;

		if (header->type != PT_LOAD)
			continue;
		if (header->flags & PF_X) {
			mm->program.code_start = start;
			mm->program.code_end = start + header->file_size;
		}
		if (header->flags & PF_W) {
			mm->program.data_start = start;
			mm->program.data_end = start + header->file_size;
		}
	}
}

/* AT_PHDR: the address of the program headers in memory; 0: no segment has them. */
static uaddr_t headers_in_memory(const struct program *program)
{
	u32 offset = program->header.program_headers;

	for (u32 i = 0; i < program->count; i++) {
		const struct program_header *header = &program->segment[i];

		if (header->type == PT_LOAD && offset >= header->offset && offset - header->offset < header->file_size)
			return header->address + (offset - header->offset) + program->base;
	}
	return 0;
}

static int map_program(struct mm *mm, struct file *file, struct program *program, uaddr_t dynamic_base,
		       const char **reason)
{
	int error;

	if (program->header.type == ET_DYN)
		program->base = dynamic_base - program->low;
	if (program->header.type == ET_DYN && program->high - program->low > USER_STACK_TOP - dynamic_base)
		return elf_refuse(reason, "too large");
	for (u32 i = 0; i < program->count; i++) {
		const struct program_header *header = &program->segment[i];
		uaddr_t size = header->memory_size;

		if (header->type != PT_LOAD || !size)
			continue;
		error = map_segment(mm, file, program, header);
		if (error)
			return error;
	}
	return 0;
}

static int load_program(struct mm *mm, struct file *file, struct program *program, uaddr_t dynamic_base,
			const char **reason)
{
	int error = read_headers(file, program, reason);

	if (!error)
		error = check_segments(program, file->inode->size, reason);
	if (!error)
		error = map_program(mm, file, program, dynamic_base, reason);
	return error;
}

/* Reads the path of PT_INTERP; false: there is none. */
static int interpreter_path(struct file *file, const struct program *program, char *path, u32 size,
			    const char **reason)
{
	path[0] = 0;
	for (u32 i = 0; i < program->count; i++) {
		const struct program_header *header = &program->segment[i];

		if (header->type != PT_INTERP)
			continue;
		if (header->file_size < 2 || header->file_size > size)
			return elf_refuse(reason, "name of the interpreter too long");
		if (file_read_kernel(file, path, header->file_size, header->offset) != (long)header->file_size ||
		    path[header->file_size - 1])
			return elf_refuse(reason, "name of the interpreter beyond the file, or without an end");
		return 0;
	}
	return 0;
}

static int load_interpreter(struct mm *mm, const char *path, struct elf_image *image, const char **reason)
{
	struct file *file = file_open(path, O_RDONLY, 0);
	struct program program = { 0 };
	int error;

	if (IS_ERR(file)) {
		*reason = "its interpreter cannot be opened";
		return (int)PTR_ERR(file);
	}
	error = S_ISREG(file->inode->mode) ? inode_permission(file->inode, MAY_EXEC) : -EACCES;
	if (!error)
		error = load_program(mm, file, &program, INTERPRETER_BASE, reason);
	file_put(file);
	if (error == -ENOEXEC)
		return -ELIBBAD;
	image->interpreter_base = program.base;
	image->start = program.header.entry + program.base;
	return error;
}

int elf_load(struct mm *mm, struct file *file, struct elf_image *image, const char **reason)
{
	struct program program = { 0 };
	char interpreter[256];
	int error = load_program(mm, file, &program, PIE_BASE, reason);

	if (!error)
		error = interpreter_path(file, &program, interpreter, sizeof(interpreter), reason);
	if (error)
		return error;
	image->entry = image->start = program.header.entry + program.base;
	if (image->entry < program.low + program.base || image->entry >= program.high + program.base ||
	    (image->entry & (ABI_CODE_ALIGN - 1)))
		return elf_refuse(reason, "entry point outside of its segments");
	image->headers = headers_in_memory(&program);
	image->header_count = program.count;
	image->interpreter_base = 0;
	note_layout(mm, &program);
	mm_brk_init(mm, program.high + program.base);
	return interpreter[0] ? load_interpreter(mm, interpreter, image, reason) : 0;
}
