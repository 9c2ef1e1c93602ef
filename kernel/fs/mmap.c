/* The system calls of the mmap family. */
#include <arch.h>
#include <errno.h>
#include <file.h>
#include <mm.h>
#include <syscall.h>
#include <task.h>

static long map_user(uaddr_t address, u32 length, int protection, u32 flags, int fd, u32 page)
{
	struct file *file = NULL;
	long result;

	if (!(flags & MAP_ANONYMOUS)) {
		file = fd_get(fd);
		if (!file || file->flags & O_PATH) {
			file_put(file);
			return -EBADF;
		}
	}
	/* There are no huge pages, of a file or without one. */
	if (flags & MAP_HUGETLB) {
		file_put(file);
		return -EINVAL;
	}
	result = (long)mm_map(current->mm, address, length, (u32)protection, flags, file, page);
	if (file)
		file_put(file);
	return result;
}

long sys_mmap(uaddr_t address, size_t length, int protection, u32 flags, int fd, u32 offset)
{
	return offset % PAGE_SIZE ? -EINVAL : map_user(address, length, protection, flags, fd, offset >> PAGE_SHIFT);
}

/* The offset is in units of 4096 bytes. */
long sys_mmap2(uaddr_t address, size_t length, int protection, u32 flags, int fd, u32 page)
{
	return map_user(address, length, protection, flags, fd, page);
}

long sys_munmap(uaddr_t address, size_t length)
{
	return length > USER_END ? -EINVAL : mm_unmap_in_parts(current->mm, address, length);
}

long sys_mremap(uaddr_t address, size_t old_length, size_t new_length, u32 flags, uaddr_t new_address)
{
	return (long)mm_remap(current->mm, address, old_length, new_length, flags, new_address);
}

long sys_mprotect(uaddr_t address, size_t length, int protection)
{
	return mm_protect(current->mm, address, length, (u32)protection);
}

long sys_msync(uaddr_t address, size_t length, u32 flags)
{
	return mm_sync(current->mm, address, length, flags);
}

long sys_madvise(uaddr_t address, size_t length, int advice)
{
	return mm_advise(current->mm, address, length, (u32)advice);
}

long sys_mincore(uaddr_t address, size_t length, u8 *pages)
{
	return mm_incore(current->mm, address, length, pages);
}

long sys_brk(uaddr_t end)
{
	return (long)mm_brk(current->mm, end);
}
