/* What the supervisor tests share: registers, console, the probe. */

#pragma once

#include <stdint.h>

#define MSR_EE 0x8000u
#define MSR_PR 0x4000u
#define MSR_FP 0x2000u
#define MSR_ME 0x1000u
#define MSR_SE 0x0400u
#define MSR_IP 0x0040u
#define MSR_IR 0x0020u
#define MSR_DR 0x0010u
#define MSR_RI 0x0002u

/* Translation on for the probe; the ROM itself is mapped by IBAT 0 and DBAT 0. */
#define KERNEL (MSR_ME | MSR_IP | MSR_IR | MSR_DR)
#define USER   (KERNEL | MSR_PR)

#define mfspr(n) ({ uint32_t v_; __asm__ volatile("mfspr %0, %1" : "=r"(v_) : "i"(n)); v_; })
#define mtspr(n, v) __asm__ volatile("mtspr %0, %1" : : "i"(n), "r"((uint32_t)(v)))

enum { SDR1 = 25, DEC = 22, PVR = 287, HID0 = 1008, IBAT0U = 528, DBAT0U = 536 };

/* What the last exception left. */
struct record {
	uint32_t vector, srr0, srr1, dsisr, dar, msr;
};
#define RECORD ((volatile struct record *)0x4000)

uint32_t probe(const void *code, uint32_t address, uint32_t msr, uint32_t value);

#define OP(name) extern const char op_##name[]
OP(nothing);
OP(load);
OP(load_byte);
OP(load_multiple);
OP(store);
OP(store_byte);
OP(reserve);
OP(dcbz);
OP(dcbst);
OP(dcbt);
OP(icbi);
OP(illegal);
OP(mfmsr);
OP(mtmsr);
OP(mfsr);
OP(mfsprg);
OP(trap);
OP(no_trap);
OP(float);
OP(tlbie);
OP(rfi);
OP(conditional);
OP(lost_reservation);
OP(go);
OP(spin);

/* console.c */
void print(const char *text);
void print_hex(uint32_t value);
void line(const char *name, uint32_t value);
void report(const char *name);

/* mmu.c */
void mmu_init(void);
void set_segment(uint32_t number, uint32_t value);
void set_bat(int data, unsigned n, uint32_t upper, uint32_t lower);
volatile uint32_t *put_pte(uint32_t segment, uint32_t address, uint32_t word1, int secondary, unsigned slot);
void clear_table(void);
void tlbie(uint32_t address);
int software_reload(void);

/* The tests. */
void test_exceptions(void);
void test_interrupts(void);
void test_bats(void);
void test_pages(void);
void test_hash(void);
void test_random(void);
