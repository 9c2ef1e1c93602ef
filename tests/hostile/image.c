/* Executables with wrong headers: segments at forbidden addresses or of impossible sizes. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/attack.h"

#define PAGE 4096u

struct image {
	Elf32_Ehdr header;
	Elf32_Phdr segment[2];
};

static const struct image good = {
	.header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2MSB, EV_CURRENT },
		.e_type = ET_EXEC, .e_machine = EM_PPC, .e_version = EV_CURRENT, .e_entry = 0x10000074,
		.e_phoff = sizeof(Elf32_Ehdr), .e_ehsize = sizeof(Elf32_Ehdr), .e_phentsize = sizeof(Elf32_Phdr),
		.e_phnum = 2, .e_shentsize = sizeof(Elf32_Shdr),
	},
	.segment = {
		{ PT_LOAD, 0, 0x10000000, 0, sizeof(struct image), sizeof(struct image), PF_R | PF_X, PAGE },
		{ PT_LOAD, 0, 0x20000000, 0, sizeof(struct image), PAGE, PF_R | PF_W, PAGE },
	},
};

static int execute_image(void *argument)
{
	execl(argument, "image", (char *)NULL);
	return errno == ENOEXEC ? 1 : errno == ENOMEM ? 2 : 3;
}

static int try_image(const struct image *image)
{
	const char *path = test_path("image");

	test_write_file(path, image, sizeof(*image));
	MUST(chmod(path, 0755));
	return test_in_child(execute_image, (void *)path);
}

/* A segment may not overlap the stack's place. */
static void a_segment_where_the_stack_goes(void)
{
	static const uint32_t sizes[] = { 1, PAGE, 16 * PAGE, 64 * PAGE };

	for (uint32_t below = 0; below < 64; below += 7) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			struct image image = good;
			int status;

			image.segment[1].p_vaddr = 0xbffff000 - below * PAGE - (sizes[i] & ~(PAGE - 1));
			image.segment[1].p_memsz = sizes[i];
			image.segment[1].p_filesz = 0;
			status = try_image(&image);
			/* execve refuses it, or the program runs and dies because it contains no instructions. */
			CHECK(status == 1 || status == 2 || status >= 1000);
		}
	}
}

/* More arguments than the stack has room for. */
static int many_arguments(void *argument)
{
	const struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	static char text[100000], *list[200];

	(void)argument;
	setrlimit(RLIMIT_STACK, &limit);
	memset(text, 'x', sizeof(text) - 1);
	for (int i = 0; i < 199; i++)
		list[i] = text;
	execve("/bin/hello", list, list);
	return errno == E2BIG ? 0 : 1;
}

static void too_many_arguments(void)
{
	CHECK_EQUAL(test_in_child(many_arguments, NULL), 0);
}

static const struct test_case cases[] = {
	CASE(a_segment_where_the_stack_goes),
	CASE(too_many_arguments),
};

ATTACK_MAIN("image", cases)
