/* checker: makes a fault that the kernel's invariant checker (check=on) must find.
 *
 *   checker <fault> here|later
 *
 * Makes the fault in a page of its own (/proc/check). `here`: then does one harmless operation on that page. `later`:
 * then does operations on another page. The kernel must panic; if it does not, this program reports that. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u

/* More operations than the checker allows between two complete checks. */
#define OPERATIONS 100u

static void make_fault(const char *name, const void *where)
{
	char words[64];
	int fd = open("/proc/check", O_WRONLY | O_CLOEXEC);
	int length = snprintf(words, sizeof(words), "%s %p", name, where);

	if (fd < 0 || write(fd, words, (size_t)length) != length)
		fprintf(stderr, "checker: /proc/check: %s: %s\n", words, strerror(errno));
	close(fd);
}

int main(int argc, char **argv)
{
	/* Areas of one page each, with gaps that keep them from being joined. */
	char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *page = pages, *other = pages + 2 * PAGE;
	int rights = PROT_READ | PROT_WRITE;

	if (argc != 3 || pages == MAP_FAILED || munmap(pages + PAGE, PAGE) < 0) {
		fprintf(stderr, "usage: checker <fault> here|later\n");
		return 2;
	}
	*(volatile char *)page = 1;
	if (strcmp(argv[1], "tree") == 0) {
		rights = PROT_READ;
		mprotect(page, PAGE, rights);
	}
	make_fault(argv[1], page);
	if (strcmp(argv[2], "here") == 0)
		mprotect(page, PAGE, rights);
	else
		for (unsigned i = 0; i < OPERATIONS; i++) {
			/* Keep using the page through the entry that the TLB already has. */
			*(volatile char *)other = *(volatile char *)page;
			madvise(other, PAGE, MADV_DONTNEED);
		}
	printf("checker: %s: not found %s\n", argv[1], argv[2]);
	return 1;
}
