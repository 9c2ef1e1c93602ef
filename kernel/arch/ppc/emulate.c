/*
 * Emulation of what these processors leave to software: reading the processor version, and unaligned accesses that
 * hardware does not split (alignment exceptions).
 */
#include <abi/auxv.h>
#include <arch.h>
#include <arch/core.h>
#include <errno.h>
#include <uaccess.h>

#include "internal.h"

#define OPCODE(i) ((i) >> 26)
#define RT(i) (((i) >> 21) & 31)
#define RA(i) (((i) >> 16) & 31)
#define RB(i) (((i) >> 11) & 31)
#define XO(i) (((i) >> 1) & 0x3ff)
#define SPR(i) (RA(i) | RB(i) << 5)

static bool instruction_fetch(struct regs *regs, u32 *instruction)
{
	return copy_from_user(instruction, (const void *)regs->nip, 4) == 0;
}

bool emulate_program(struct regs *regs)
{
	u32 i;

	if (!instruction_fetch(regs, &i))
		return false;
	/* mfspr rT, PVR */
	if (OPCODE(i) == 31 && XO(i) == 339 && SPR(i) == SPR_PVR) {
		regs->gpr[RT(i)] = cpu_pvr;
		regs->nip += 4;
		return true;
	}
	/*
	 * mffsl and its like are mffs with a field that older processors ignore (Power ISA 3.0, 4.6.10); QEMU's
	 * models of them do not.
	 */
	if (arch_cpu.hwcap & PPC_FEATURE_HAS_FPU && OPCODE(i) == 63 && XO(i) == 583 && RA(i)) {
		arch_fpu_save(current);
		current->arch.fpr[RT(i)] = current->arch.fpscr;
		arch_fpu_drop(current);
		regs->nip += 4;
		return true;
	}
	return false;
}

/* A load or store: its size, and what it does with the bytes. */
struct access {
	u8 size;
	bool store, sign, update, reversed, floating;
};

#define L(size_) { .size = (size_) }
#define S(size_) { .size = (size_), .store = true }

/* D-form opcodes 32 to 55, in pairs without and with update. */
static bool decode_d(u32 opcode, struct access *a)
{
	static const struct access table[12] = {
		[0] = L(4), [1] = L(1), [2] = S(4), [3] = S(1), [4] = L(2),
		[5] = { .size = 2, .sign = true }, [6] = S(2),
		[8] = { .size = 4, .floating = true }, [9] = { .size = 8, .floating = true },
		[10] = { .size = 4, .store = true, .floating = true },
		[11] = { .size = 8, .store = true, .floating = true },
	};

	if (opcode < 32 || opcode > 55 || opcode == 46 || opcode == 47)
		return false;
	*a = table[(opcode - 32) / 2];
	a->update = opcode % 2;
	return true;
}

static bool decode_x(u32 xo, struct access *a)
{
	switch (xo) {
	case 534: *a = (struct access){ .size = 4, .reversed = true }; return true;             /* lwbrx */
	case 662: *a = (struct access){ .size = 4, .store = true, .reversed = true }; return true;
	case 790: *a = (struct access){ .size = 2, .reversed = true }; return true;             /* lhbrx */
	case 918: *a = (struct access){ .size = 2, .store = true, .reversed = true }; return true;
	}
	/* The X forms lwzx 23, lwzux 55, lbzx 87, ... stfdux 759 mirror the D forms: 23 + 32 k is opcode 32 + k. */
	return xo % 32 == 23 && decode_d(32 + xo / 32, a);
}

/* Converts single to double precision and back, as lfs and stfs do. */
static u64 float_widen(u32 f)
{
	u64 sign = (u64)(f >> 31) << 63;
	u32 exponent = (f >> 23) & 0xff, fraction = f & 0x7fffff;

	if (exponent == 0xff)
		return sign | 0x7ffULL << 52 | (u64)fraction << 29;
	if (exponent == 0) {
		if (!fraction)
			return sign;
		exponent = 1;
		while (!(fraction & 0x800000)) {
			fraction <<= 1;
			exponent--;
		}
		fraction &= 0x7fffff;
	}
	return sign | (u64)(exponent + 896) << 52 | (u64)fraction << 29;
}

static u32 float_narrow(u64 d)
{
	u32 sign = (u32)(d >> 63) << 31;
	u32 exponent = (u32)(d >> 52) & 0x7ff;

	if (exponent > 896 || (d << 1) == 0)
		return (u32)(d >> 32 & 0xc0000000u) | (u32)(d >> 29 & 0x3fffffff);
	if (exponent >= 874)
		return sign | (u32)((1ULL << 52 | (d & 0xfffffffffffffULL)) >> (29 + 897 - exponent));
	return sign;
}

static u64 bytes_reverse(u64 value, unsigned size)
{
	u64 out = 0;

	for (; size; size--, value >>= 8)
		out = out << 8 | (value & 0xff);
	return out;
}

static bool emulate_transfer(struct regs *regs, const struct access *a, vaddr_t address, u32 rt)
{
	u8 bytes[8];
	u64 value = 0;

	if (a->floating)
		arch_fpu_save(current);
	if (a->store) {
		value = a->floating ? current->arch.fpr[rt] : regs->gpr[rt];
		if (a->floating && a->size == 4)
			value = float_narrow(value);
		if (a->reversed)
			value = bytes_reverse(value, a->size);
		for (unsigned i = 0; i < a->size; i++)
			bytes[i] = (u8)(value >> 8 * (a->size - 1 - i));
		return copy_to_user((void *)address, bytes, a->size) == 0;
	}
	if (copy_from_user(bytes, (const void *)address, a->size))
		return false;
	for (unsigned i = 0; i < a->size; i++)
		value = value << 8 | bytes[i];
	if (a->reversed)
		value = bytes_reverse(value, a->size);
	if (a->floating) {
		current->arch.fpr[rt] = a->size == 4 ? float_widen((u32)value) : value;
		arch_fpu_drop(current);
	} else {
		regs->gpr[rt] = a->sign ? (u32)(s32)(s16)value : (u32)value;
	}
	return true;
}

/* Decodes a load or store of one register; false: another instruction. */
static bool access_decode(u32 i, struct access *a)
{
	return OPCODE(i) == 31 ? decode_x(XO(i), a) : decode_d(OPCODE(i), a);
}

static int emulate_access(struct regs *regs, u32 i, const struct access *a)
{
	u32 base = RA(i) ? regs->gpr[RA(i)] : 0;
	vaddr_t address = base + (OPCODE(i) == 31 ? regs->gpr[RB(i)] : (u32)(s32)(s16)i);

	regs->dar = address;
	if (!emulate_transfer(regs, a, address, RT(i)))
		return -EFAULT;
	if (a->update)
		regs->gpr[RA(i)] = address;
	regs->nip += 4;
	return 0;
}

/* Needed because a C library's setjmp saves floating-point registers even in programs that never use them. */
int emulate_float(struct regs *regs)
{
	struct access a;
	u32 i;

	if (!instruction_fetch(regs, &i))
		return -EFAULT;
	return access_decode(i, &a) && a.floating ? emulate_access(regs, i, &a) : -EINVAL;
}

int emulate_alignment(struct regs *regs)
{
	struct access a;
	u32 i, address, base;

	if (!instruction_fetch(regs, &i))
		return -EFAULT;
	base = RA(i) ? regs->gpr[RA(i)] : 0;

	if (OPCODE(i) == 46 || OPCODE(i) == 47) {       /* lmw, stmw */
		a = (struct access){ .size = 4, .store = OPCODE(i) == 47 };
		address = base + (u32)(s32)(s16)i;
		for (u32 r = RT(i); r < 32; r++, address += 4)
			if (!emulate_transfer(regs, &a, address, r))
				return -EFAULT;
		regs->nip += 4;
		return 0;
	}
	if (OPCODE(i) == 31 && XO(i) == 1014) {         /* dcbz of memory that is not cached */
		address = (base + regs->gpr[RB(i)]) & ~(arch_cpu.dcache_line - 1);
		if (clear_user((void *)address, arch_cpu.dcache_line))
			return -EFAULT;
		regs->nip += 4;
		return 0;
	}
	return access_decode(i, &a) ? emulate_access(regs, i, &a) : -EINVAL;
}
