/*
 * The processors that firmware describes (Intel MultiProcessor Specification 1.4, chapter 4): a pointer in memory that
 * firmware owns, to a table with an entry for each of them.
 */
#include <arch.h>
#include <cpu.h>
#include <lib.h>

#include "internal.h"

struct pointer {
	char signature[4];              /* "_MP_" */
	paddr_t table;
	u8 length, revision, sum, features[5];
} __attribute__((packed));

struct header {
	char signature[4];              /* "PCMP" */
	u16 length;
	u8 revision, sum;
	char product[20];
	paddr_t own_table;
	u16 own_size, entries;
	paddr_t local_apic;
	u16 more_length;
	u8 more_sum, reserved;
} __attribute__((packed));

struct processor {
	u8 kind, apic, version, flags;
	u32 signature, features, reserved[2];
} __attribute__((packed));

#define KIND_PROCESSOR 0u
#define OTHER_SIZE     8u               /* of an entry of any other kind */
#define USABLE         1u               /* flags of a processor */
#define BOOTED         2u

#define EXTENDED_AREA  0x40eu           /* the word with the paragraph of the BIOS's own data */
#define BASE_END       0xa0000u
#define FIRMWARE       0xf0000u
#define FIRMWARE_SIZE  0x10000u

struct described_processors processors;

static bool sums_to_zero(const void *at, u32 size)
{
	u8 sum = 0;

	for (u32 i = 0; i < size; i++)
		sum = (u8)(sum + ((const u8 *)at)[i]);
	return !sum;
}

static const struct pointer *pointer_in(paddr_t start, u32 size)
{
	for (paddr_t at = start; at < start + size; at += sizeof(struct pointer)) {
		const struct pointer *pointer = pa_kva(at);

		if (memcmp(pointer->signature, "_MP_", 4) == 0 && sums_to_zero(pointer, sizeof(*pointer)))
			return pointer;
	}
	return NULL;
}

static const struct pointer *pointer_find(void)
{
	paddr_t own = (paddr_t)*(const u16 *)pa_kva(EXTENDED_AREA) << 4;
	const struct pointer *found = NULL;

	if (own && own <= BASE_END - 1024)
		found = pointer_in(own, 1024);
	if (!found)
		found = pointer_in(BASE_END - 1024, 1024);
	return found ? found : pointer_in(FIRMWARE, FIRMWARE_SIZE);
}

/* The processor that runs this comes first, the others in the order of the table. */
static void note_processor(const struct processor *entry)
{
	if (!(entry->flags & USABLE) || entry->apic >= 32)
		return;
	if (entry->flags & BOOTED)
		processors.apic[0] = entry->apic;
	else if (processors.count < BOARD_CPUS)
		processors.apic[processors.count++] = entry->apic;
}

/* Without a table there is one processor. The start maps the first megabyte, where firmware has all of it. */
void processors_find(void)
{
	const struct pointer *pointer = pointer_find();
	const struct header *header;
	u32 at, end;

	processors.count = 1;
	if (!pointer || pointer->table < PAGE_SIZE || pointer->table > 0x100000 - sizeof(*header))
		return;
	header = pa_kva(pointer->table);
	end = pointer->table + header->length;
	if (memcmp(header->signature, "PCMP", 4) != 0 || end > 0x100000 || !sums_to_zero(header, header->length))
		return;
	at = pointer->table + sizeof(*header);
	for (u32 i = 0; i < header->entries && at + sizeof(struct processor) <= end; i++) {
		const struct processor *entry = pa_kva(at);

		if (entry->kind != KIND_PROCESSOR) {
			at += OTHER_SIZE;
			continue;
		}
		note_processor(entry);
		at += sizeof(*entry);
	}
}
