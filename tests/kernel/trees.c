/*
 * Gives the kernel's reader of device trees damaged trees in the host's byte order. Each is refused or read within its
 * bounds: the blob ends where its memory ends, so that the address sanitizer sees a byte too far. Arguments: the tree,
 * a seed and the number of damaged ones.
 */
#include <fdt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long long state;

static unsigned below(unsigned bound)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 32) % bound;
}

static const char *const paths[] = { "/", "/cpus/cpu", "/cpus/cpu@1", "/cpus", "/isa/pagewalk", "/interrupt-controller",
				     "/isa/interrupt-controller", "", "//", "cpus", "/cpus/", "/cpus/cpu@0/none" };
static const char *const properties[] = { "compatible", "reg", "timebase-frequency", "device_type", "interrupts", "" };

/* Adds up what can be read, so that every byte is read. */
static unsigned read_all(const char *tree, unsigned size, unsigned *found)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		for (unsigned j = 0; j < sizeof(properties) / sizeof(*properties); j++) {
			u32 length, cell;
			const char *text = fdt_property(tree, paths[i], properties[j], &length);

			if (!text)
				continue;
			(*found)++;
			if (text < tree || length > size || text > tree + size - length) {
				printf("%s %s: %u bytes outside of the tree\n", paths[i], properties[j], length);
				exit(1);
			}
			for (u32 k = 0; k < length; k++)
				sum += (unsigned char)text[k];
			if (fdt_u32(tree, paths[i], properties[j], &cell))
				sum += cell;
			text = fdt_string(tree, paths[i], properties[j]);
			sum += text ? (unsigned)strlen(text) : 0;
		}
	return sum;
}

static void damage(char *tree, unsigned size)
{
	static const u32 odd[] = { 0, 1, 2, 3, 4, 9, 17, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff };

	for (unsigned n = 1 + below(4); n; n--) {
		unsigned at = below(size / 4) * 4;
		u32 word = odd[below(sizeof(odd) / sizeof(*odd))];

		if (below(8) == 0)
			at = 4 + below(9) * 4;
		if (below(3) == 0)
			tree[below(size)] = (char)below(256);
		else if (below(3) == 0) {
			memcpy(&word, tree + at, 4);
			word += below(17) - 8;
		}
		memcpy(tree + at, &word, 4);
	}
}

int main(int argc, char **argv)
{
	FILE *file = fopen(argv[1], "rb");
	static char whole[65536];
	unsigned size = (unsigned)fread(whole, 1, sizeof(whole), file), found = 0, read = 0, sum = 0;

	fclose(file);
	state = argc > 2 ? strtoull(argv[2], NULL, 10) * 2 + 1 : 1;
	sum = read_all(whole, size, &found);
	if (fdt_check(whole) || !found) {
		printf("the tree itself is refused\n");
		return 1;
	}
	found = 0;
	for (int n = 0; n < atoi(argv[3]); n++) {
		char *tree = malloc(size);

		memcpy(tree, whole, size);
		damage(tree, size);
		/* Nobody can see that a blob is shorter than it says. */
		if (fdt_check(tree) == 0 && fdt_size(tree) <= size) {
			read++;
			sum += read_all(tree, size, &found);
		}
		free(tree);
	}
	printf("%u trees read, %u properties, sum %u\n", read, found, sum);
	return read == 0;
}
