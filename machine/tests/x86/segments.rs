//! Segment registers: what a descriptor must be, and what its limit forbids.

use pagewalk_machine::x86::Stop;
use pagewalk_machine::x86::registers::{Segment, access, segment};
use proptest::prelude::*;

use super::bench::{Bench, CODE, CODE0, DATA, GDT, handler};

/// Entry 8 of the GDT.
const OWN: u16 = 0x40;

/// What the load of DS or SS does, by the rules of SDM volume 3, 5.4 to 5.7: nothing, or vector and error code.
fn wanted(access: u8, rpl: u8, cpl: u8, stack: bool) -> Option<(u32, u32)> {
    let code = u32::from(OWN);
    let (present, dpl, ordinary) = (access & 0x80 != 0, access >> 5 & 3, access & 0x10 != 0);
    let is_code = access & 8 != 0;
    let second = access & 2 != 0;
    if stack {
        if rpl != cpl || dpl != cpl || !ordinary || is_code || !second {
            return Some((13, code));
        }
        return (!present).then_some((12, code));
    }
    let conforming = is_code && access & 4 != 0;
    let readable = ordinary && (!is_code || second);
    if !readable || !(conforming || (rpl <= dpl && cpl <= dpl)) {
        return Some((13, code));
    }
    (!present).then_some((11, code))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn loads_are_checked(access: u8, rpl in 0u8..4, user: bool, stack: bool) {
        // mov ds, eax; mov ss, eax
        let code = if stack { [0x8e, 0xd0] } else { [0x8e, 0xd8] };
        let mut bench = Bench::new("i486dx-50", &code);
        for vector in [10, 11, 12, 13] {
            bench = bench.gate(vector, 0);
        }
        if user {
            bench = bench.user();
        }
        bench.put_word(GDT + u32::from(OWN), 0x5678_ffff);
        bench.put_word(GDT + u32::from(OWN) + 4, 0x1240_0034 | u32::from(access) << 8);
        bench.registers().gpr[0] = u32::from(OWN | u16::from(rpl));
        let cpl = if user { 3 } else { 0 };
        match wanted(access, rpl, cpl, stack) {
            Some((vector, code)) => {
                prop_assert_eq!(bench.run_to_handler(), vector);
                prop_assert_eq!(bench.stacked(0), code);
                prop_assert_eq!(bench.stacked(1), CODE);
            }
            None => {
                prop_assert_eq!(bench.run(1), Stop::Limit);
                let number = if stack { segment::SS } else { segment::DS };
                let held = *bench.registers().segment(number);
                prop_assert_eq!(held.selector, OWN | u16::from(rpl));
                prop_assert_eq!((held.base, held.limit), (0x1234_5678, 0xffff));
                prop_assert!(held.is(access::ACCESSED));
                let high = bench.word(GDT + u32::from(OWN) + 4);
                prop_assert!(high & 0x100 != 0, "the accessed bit is in memory");
            }
        }
    }

    /// Every access of a segment against its limit, in both directions of growth.
    #[test]
    fn limits_hold(limit in 0u32..0x3000, offset in 0u32..0x3000, down: bool, width in 0usize..3) {
        // mov ebx/bx/bl, [eax] with DS
        let code: &[u8] = [&[0x8a, 0x18][..], &[0x66, 0x8b, 0x18], &[0x8b, 0x18]][width];
        let bytes = 1 << width;
        let mut bench = Bench::new("i486dx-50", code).gate(13, 0);
        let kind = if down { 0x4097 } else { 0x4093 };
        let ds = Segment::new(0x10, DATA, limit, kind);
        bench.registers().segments[usize::from(segment::DS)] = ds;
        bench.registers().gpr[0] = offset;
        let inside = if down { offset > limit } else { offset + bytes - 1 <= limit };
        if inside {
            prop_assert_eq!(bench.run(1), Stop::Limit);
        } else {
            prop_assert_eq!(bench.run_to_handler(), 13);
            prop_assert_eq!(bench.stacked(0), 0);
        }
    }
}

#[test]
fn a_null_selector_is_loaded_and_not_used() {
    // mov ds, eax; mov ebx, [ecx]
    let mut bench = Bench::new("i486dx-50", &[0x8e, 0xd8, 0x8b, 0x19]).gate(13, 0);
    bench.registers().gpr[1] = DATA;
    assert_eq!(bench.run_to_handler(), 13);
    assert_eq!(bench.stacked(1), CODE + 2);
}

#[test]
fn code_is_not_written_and_read_only_data_neither() {
    for rights in [0xc09b, 0xc091] {
        // mov [ecx], ebx
        let mut bench = Bench::new("i486dx-50", &[0x89, 0x19]).gate(13, 0);
        let ds = Segment::new(0x08, 0, u32::MAX, rights);
        bench.registers().segments[usize::from(segment::DS)] = ds;
        bench.registers().gpr[1] = DATA;
        assert_eq!(bench.run_to_handler(), 13);
    }
}

#[test]
fn a_stack_outside_of_its_segment_raises_a_stack_fault() {
    // push eax with a limit below ESP: the handler needs a stack too, so the code runs in ring 3.
    let mut bench = Bench::new("i486dx-50", &[0x50]).user().gate(12, 0);
    let ss = Segment::new(0x23, 0, 0xfff, 0x40f3);
    bench.registers().segments[usize::from(segment::SS)] = ss;
    assert_eq!(bench.run_to_handler(), 12);
    assert_eq!(bench.stacked(0), 0);
}

#[test]
fn a_call_gate_leads_to_the_inner_ring_and_takes_its_operands_along() {
    // push 0x11; push 0x22; call far OWN:0
    let mut code = vec![0x6a, 0x11, 0x6a, 0x22, 0x9a, 0, 0, 0, 0];
    code.extend((OWN | 3).to_le_bytes());
    code.push(0x90);
    let mut bench = Bench::new("i486dx-50", &code).user();
    let target = CODE + 0x400;
    // retf 8
    bench.put(target, &[0xca, 8, 0]);
    bench.put_word(GDT + u32::from(OWN), 0x08 << 16 | target & 0xffff);
    bench.put_word(GDT + u32::from(OWN) + 4, target & 0xffff_0000 | 0xec02);
    let esp = bench.registers().gpr[4];
    bench.run(3);
    assert_eq!(bench.registers().cpl, 0);
    assert_eq!(bench.registers().eip, target);
    let frame: Vec<u32> = (0..6).map(|n| bench.stacked(n)).collect();
    let back = CODE + 11;
    assert_eq!(frame, [back, 0x1b, 0x22, 0x11, esp - 8, 0x23]);
    bench.run(1);
    assert_eq!((bench.registers().cpl, bench.registers().eip), (3, back));
    assert_eq!(bench.registers().gpr[4], esp);
}

#[test]
fn lar_lsl_and_verr_look_without_faults() {
    // lar ebx, eax; lsl ecx, eax; verw ax
    let code = [0x0f, 0x02, 0xd8, 0x0f, 0x03, 0xc8, 0x0f, 0x00, 0xe8];
    let mut bench = Bench::new("i486dx-50", &code);
    bench.registers().gpr[0] = 0x23;
    bench.run(2);
    assert_eq!(bench.registers().gpr[3], 0x00c0_f300);
    assert_eq!(bench.registers().gpr[1], u32::MAX);
    assert_ne!(bench.flags() & 0x40, 0);
    bench.registers().gpr[0] = 0x1b;
    bench.run(1);
    assert_eq!(bench.flags() & 0x40, 0, "code is not written");
}

#[test]
fn code_ends_at_its_segments_limit() {
    let increments = [0x40; 40];
    // mov eax, 1 after two NOPs: its last byte is beyond the limit.
    let across = [0x90, 0x90, 0xb8, 1, 0, 0, 0, 0xf4];
    for (name, oracle) in [
        ("i486dx-50", false),
        ("i486dx-50", true),
        ("p6-200", false),
        ("p6-200", true),
    ] {
        for (code, limit, eax, at) in [
            (&increments[..], CODE + 8, 9, CODE + 9),
            (&across[..], CODE + 5, 0, CODE + 2),
            (&across[..], CODE + 6, 1, CODE + 7),
        ] {
            let mut bench = Bench::new(name, code).gate(13, 0);
            let number = usize::from(segment::CS);
            bench.registers().segments[number] = Segment::new(CODE0, 0, limit, 0x409b);
            bench.processor().modes_changed();
            bench.machine.set_oracle(oracle);
            assert_eq!(bench.run_to_handler(), 13, "{name} {limit:#x}");
            assert_eq!(bench.registers().gpr[0], eax, "{name} {limit:#x}");
            assert_eq!(bench.stacked(1), at, "{name} {limit:#x}");
        }
    }
}

#[test]
fn a_loop_at_its_segments_limit_jumps_and_runs_on() {
    // inc eax; cmp eax, 100; jne -6; hlt: the segment ends with the HLT or before it.
    let code = [0x40, 0x83, 0xf8, 100, 0x75, 0xfa, 0xf4];
    for (limit, eip) in [(CODE + 6, CODE + 7), (CODE + 5, handler(13) + 1)] {
        for oracle in [false, true] {
            let mut bench = Bench::new("i486dx-50", &code).gate(13, 0);
            let number = usize::from(segment::CS);
            bench.registers().segments[number] = Segment::new(CODE0, 0, limit, 0x409b);
            bench.processor().modes_changed();
            bench.machine.set_oracle(oracle);
            bench.run(1000);
            assert_eq!(bench.registers().gpr[0], 100);
            assert_eq!(bench.registers().eip, eip);
        }
    }
}
