/* The text of /proc/<pid>/maps and /proc/meminfo. */
#include <arch.h>
#include <file.h>
#include <fs.h>
#include <kmalloc.h>
#include <lib.h>
#include <mm.h>
#include <signal.h>
#include <text.h>
#include <window.h>

/* The name that maps shows of an area; NULL: none. `buffer` has PATH_MAX bytes, or is NULL without memory. */
static const char *shown_name(const struct mm *mm, const struct vma *vma, char *buffer)
{
	if (vma->file)
		return buffer ? area_of(vma)->name(vma, buffer, PATH_MAX) : NULL;
	if (vma->flags & VM_STACK)
		return "[stack]";
	return vma->flags & VM_HEAP && vma->start < mm->program.brk ? "[heap]" : NULL;
}

/* Other tasks may run while the text grows, and remove the area: its name is taken first. */
static void show_area(const struct mm *mm, const struct vma *vma, struct text *text)
{
	const struct inode *inode = vma->file ? vma->file->inode : NULL;
	char *buffer = vma->file ? kmalloc(PATH_MAX) : NULL;
	const char *name = shown_name(mm, vma, buffer);

	text_printf(text, ADDRESS_HEX "-" ADDRESS_HEX " %c%c%c%c %08x %02x:%02x %llu ", vma->start, vma->end,
		    vma->flags & VM_READ ? 'r' : '-', vma->flags & VM_WRITE ? 'w' : '-',
		    vma->flags & VM_EXEC ? 'x' : '-', vma->flags & VM_SHARED ? 's' : 'p',
		    inode ? vma->first_page << PAGE_SHIFT : 0, inode ? MAJOR(inode_dev(inode)) : 0,
		    inode ? MINOR(inode_dev(inode)) : 0, inode ? inode->ino : 0);
	/* The name begins at column 49, as in Linux's proc(5). */
	if (name)
		text_printf(text, "%*s%s", 25, "", name);
	text_puts(text, "\n");
	kfree(buffer);
}

void mm_show_maps(struct mm *mm, struct text *text)
{
	struct vma *vma;

	text->preemptible = true;
	for_each_area_meanwhile(vma, mm) {
		if (signal_fatal_pending())
			break;
		show_area(mm, vma, text);
	}
}

static void meminfo_line(struct text *text, const char *name, u32 pages)
{
	text_printf(text, "%s:%*s%8u kB\n", name, (int)(15 - strlen(name)), "", pages * (PAGE_SIZE / 1024));
}

void mm_show_meminfo(struct text *text)
{
	struct frame_statistics s;

	frame_statistics(&s);
	meminfo_line(text, "MemTotal", s.total - s.use[FRAME_RESERVED]);
	meminfo_line(text, "MemFree", s.use[FRAME_FREE]);
	meminfo_line(text, "MemAvailable", s.use[FRAME_FREE]);
	meminfo_line(text, "Buffers", 0);
	meminfo_line(text, "Cached", s.use[FRAME_CACHE] + s.use[FRAME_DIRTY]);
	meminfo_line(text, "SwapCached", 0);
	meminfo_line(text, "Dirty", s.use[FRAME_DIRTY]);
	meminfo_line(text, "AnonPages", s.use[FRAME_ANONYMOUS]);
	meminfo_line(text, "Shmem", s.use[FRAME_CACHE] + s.use[FRAME_DIRTY]);
	meminfo_line(text, "Slab", s.use[FRAME_KERNEL]);
	meminfo_line(text, "PageTables", s.use[FRAME_PAGE_TABLE]);
	meminfo_line(text, "SwapTotal", 0);
	meminfo_line(text, "SwapFree", 0);
}
