/* A reader of flattened device trees (Devicetree Specification 0.3, chapter 5). */
#ifndef FDT_H
#define FDT_H
#include <types.h>

/* 0; -EINVAL: this reader does not understand the blob. */
int fdt_check(const void *fdt);
u32 fdt_size(const void *fdt);
/*
 * A property of the node at an absolute path whose components may leave out
 * the unit address ("/cpus/cpu"); NULL when there is none. *length in bytes.
 */
const void *fdt_property(const void *fdt, const char *path, const char *property, u32 *length);
/* The property's first cell; false: there is none. */
bool fdt_u32(const void *fdt, const char *path, const char *property, u32 *value);
/* The property's text; NULL: it is missing or has no final NUL. */
const char *fdt_string(const void *fdt, const char *path, const char *property);

#endif
