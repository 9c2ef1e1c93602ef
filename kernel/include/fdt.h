/* A reader of flattened device trees (Devicetree Specification 0.3, chapter 5). */
#ifndef FDT_H
#define FDT_H

#include <types.h>

/* 0, or -EINVAL when the blob is not a tree that this reader understands. */
int fdt_check(const void *fdt);
u32 fdt_size(const void *fdt);
/*
 * A property of the node at an absolute path whose components may leave out
 * the unit address ("/cpus/cpu"); NULL when there is none. *length in bytes.
 */
const void *fdt_property(const void *fdt, const char *path, const char *property, u32 *length);
/* Its first cell; false when there is none. */
bool fdt_u32(const void *fdt, const char *path, const char *property, u32 *value);
/* Its text; NULL when it is missing or does not end with NUL. */
const char *fdt_string(const void *fdt, const char *path, const char *property);

#endif
