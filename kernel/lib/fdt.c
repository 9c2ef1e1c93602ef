/* Reads a flattened device tree (fdt.h). */
#include <errno.h>
#include <fdt.h>
#include <lib.h>

#define FDT_MAGIC      0xd00dfeedu
#define FDT_BEGIN_NODE 1u
#define FDT_END_NODE   2u
#define FDT_PROP       3u
#define FDT_NOP        4u
#define FDT_SIZE_MAX   0x100000u

struct header {
	u32 magic, total_size, structure, strings, reservations;
	u32 version, last_compatible, boot_cpu, strings_size, structure_size;
};

int fdt_check(const void *fdt)
{
	const struct header *h = fdt;

	if (h->magic != FDT_MAGIC || h->last_compatible > 17 || h->version < 17)
		return -EINVAL;
	if (h->total_size > FDT_SIZE_MAX || h->structure > h->total_size || h->strings > h->total_size ||
	    h->structure_size > h->total_size - h->structure || h->strings_size > h->total_size - h->strings ||
	    h->structure % sizeof(u32) != 0)
		return -EINVAL;
	return 0;
}

u32 fdt_size(const void *fdt)
{
	return ((const struct header *)fdt)->total_size;
}

/* Whether the component [path, slash) names the node, whose own name may have a unit address. */
static bool component_names(const char *path, size_t length, const char *node)
{
	return strncmp(path, node, length) == 0 && (node[length] == '\0' || node[length] == '@');
}

const void *fdt_property(const void *fdt, const char *path, const char *property, u32 *length)
{
	const struct header *h = fdt;
	const char *strings = (const char *)fdt + h->strings;
	const u32 *p = (const u32 *)((const char *)fdt + h->structure);
	const u32 *end = p + h->structure_size / 4;
	unsigned depth = 0, matched = 0;
	const char *next = path;        /* the path after the matched components, from a slash */

	while (p < end) {
		u32 token = *p++;

		if (token == FDT_BEGIN_NODE) {
			const char *name = (const char *)p;
			size_t room = (size_t)((const char *)end - name);
			size_t size = strnlen(name, room);

			if (size == room)
				return NULL;
			if (depth > 0 && matched == depth && *next == '/') {
				const char *slash = strchr(next + 1, '/');
				size_t part = slash ? (size_t)(slash - next - 1) : strlen(next + 1);

				if (part && component_names(next + 1, part, name)) {
					next += part + 1;
					matched++;
				}
			} else if (depth == 0) {
				matched = 1;
				if (next[0] == '/' && next[1] == '\0')
					next++;
			}
			depth++;
			p += (size + 1 + 3) / 4;
		} else if (token == FDT_END_NODE) {
			/* The node has ended, or the subtree of a matched component has: there is no other match. */
			if (depth == 0 || matched == depth)
				return NULL;
			depth--;
		} else if (token == FDT_PROP) {
			if (end - p < 2)
				return NULL;
			u32 size = p[0], name = p[1];
			p += 2;
			if (size > (u32)((const char *)end - (const char *)p) || name >= h->strings_size)
				return NULL;
			if (matched == depth && *next == '\0' &&
			    strncmp(strings + name, property, h->strings_size - name) == 0) {
				*length = size;
				return p;
			}
			p += (size + 3) / 4;
		} else if (token != FDT_NOP) {
			return NULL;
		}
	}
	return NULL;
}

bool fdt_u32(const void *fdt, const char *path, const char *property, u32 *value)
{
	u32 length;
	const u32 *cells = fdt_property(fdt, path, property, &length);

	if (!cells || length < 4)
		return false;
	*value = *cells;
	return true;
}

const char *fdt_string(const void *fdt, const char *path, const char *property)
{
	u32 length;
	const char *text = fdt_property(fdt, path, property, &length);

	return text && length && text[length - 1] == '\0' ? text : NULL;
}
