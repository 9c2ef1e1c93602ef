//! Exceptions, interrupts and their frames.

use pagewalk_machine::x86::registers::eflags;
use pagewalk_machine::x86::{Fatal, Stop};

use super::bench::{Bench, CODE, CODE3, DATA3, GDT, IDT, INNER_STACK, STACK, TSS};

const INT_80: &[u8] = &[0xcd, 0x80];
const UD2: &[u8] = &[0x0f, 0x0b];

#[test]
fn an_interrupt_of_a_program_changes_to_the_stack_of_the_task() {
    let mut bench = Bench::new("i486dx-50", INT_80).user().gate(0x80, 3);
    bench.registers().set_eflags(eflags::CF | eflags::IF, !0);
    bench.processor().modes_changed();
    assert_eq!(bench.run_to_handler(), 0x80);
    assert_eq!(bench.registers().cpl, 0);
    assert_eq!(bench.registers().gpr[4], INNER_STACK - 20);
    let frame: Vec<u32> = (0..5).map(|n| bench.stacked(n)).collect();
    let flags = eflags::CF | eflags::IF | eflags::ONE;
    assert_eq!(frame, [CODE + 2, CODE3.into(), flags, STACK, DATA3.into()]);
    assert_eq!(
        bench.registers().system & eflags::IF,
        0,
        "an interrupt gate"
    );
}

#[test]
fn a_gate_that_a_program_may_not_use_raises_a_protection_fault() {
    let mut bench = Bench::new("i486dx-50", INT_80)
        .user()
        .gate(0x80, 0)
        .gate(13, 0);
    assert_eq!(bench.run_to_handler(), 13);
    // Index 0x80 of the IDT.
    assert_eq!(bench.stacked(0), 0x80 << 3 | 2);
    assert_eq!(bench.stacked(1), CODE, "a fault: the instruction itself");
}

#[test]
fn a_bad_stack_for_an_exception_is_reported_as_an_external_event() {
    const EXTERNAL: u32 = 1;
    // Of ring 1: code, and data that is not present. The third selector has no descriptor.
    let (code1, absent, none) = (0x30, 0x38, 0x58);
    for (stack, vector) in [(absent, 12), (none, 10)] {
        let mut bench = Bench::new("i486dx-50", UD2).user().gate(vector, 0);
        bench.put_word(GDT + code1, 0xffff);
        bench.put_word(GDT + code1 + 4, 0x00cf_bb00);
        bench.put_word(GDT + absent, 0xffff);
        bench.put_word(GDT + absent + 4, 0x00cf_3300);
        bench.put_word(TSS + 12, INNER_STACK);
        bench.put_word(TSS + 16, stack | 1);
        bench.put_word(IDT + 8 * 6, code1 << 16 | CODE);
        bench.put_word(IDT + 8 * 6 + 4, CODE & 0xffff_0000 | 0x8e00);
        assert_eq!(bench.run_to_handler(), vector);
        assert_eq!(bench.stacked(0), stack | EXTERNAL, "the error code");
        assert_eq!(bench.stacked(1), CODE);
    }
}

#[test]
fn iret_returns_to_the_program() {
    let mut bench = Bench::new("i486dx-50", &[0xcd, 0x80, 0x40, 0xcd, 0x81])
        .user()
        .gate(0x80, 3)
        .gate(0x81, 3);
    bench.put(super::bench::handler(0x80), &[0xcf]);
    assert_eq!(bench.run_to_handler(), 0x81);
    assert_eq!(bench.registers().gpr[0], 1);
    assert_eq!(bench.stacked(0), CODE + 5);
    assert_eq!(bench.stacked(3), STACK, "the program's stack is as it was");
}

/// Only the system enters virtual-8086 mode: a program's IRET leaves EFLAGS.VM as it is (Intel manual, volume 2, IRET).
#[test]
fn the_virtual_8086_flag_of_a_programs_iret_is_ignored() {
    let mut code = vec![0x68]; // push the flags
    code.extend((eflags::VM | eflags::CF | eflags::ONE).to_le_bytes());
    code.extend([0x0e, 0x68]); // push cs; push the address of the int
    code.extend((CODE + 12).to_le_bytes());
    code.extend([0xcf, 0xcd, 0x80]); // iret; int 0x80
    for name in ["i486dx-50", "p6-200"] {
        let mut bench = Bench::new(name, &code).user().gate(0x80, 3).gate(13, 0);
        assert_eq!(bench.run_to_handler(), 0x80, "{name}");
        assert_eq!(bench.stacked(0), CODE + 14);
        assert_eq!(bench.stacked(2), eflags::CF | eflags::ONE);
        assert_eq!(bench.stacked(3), STACK);
        // The system's own would enter that mode, which is not modelled.
        let mut bench = Bench::new(name, &code).gate(13, 0);
        assert_eq!(bench.run_to_handler(), 13, "{name}");
    }
}

#[test]
fn each_core_refuses_what_it_lacks() {
    let lacking: [&[u8]; 5] = [
        &[0x0f, 0xa2],       // cpuid
        &[0x0f, 0x31],       // rdtsc
        &[0x0f, 0x44, 0xc1], // cmove
        &[0x0f, 0xc7, 0x0e], // cmpxchg8b
        &[0x0f, 0x20, 0xe0], // mov eax, cr4
    ];
    for code in lacking {
        let mut bench = Bench::new("i486dx-50", code).gate(6, 0);
        assert_eq!(bench.run_to_handler(), 6, "{code:x?}");
        assert_eq!(bench.stacked(0), CODE);
        let mut bench = Bench::new("p6-200", code).gate(6, 0);
        bench.registers().gpr[6] = super::bench::DATA;
        assert_eq!(bench.run(1), Stop::Limit, "{code:x?}");
        assert_eq!(bench.registers().eip, CODE + code.len() as u32);
    }
    let illegal: [&[u8]; 6] = [
        UD2,
        &[0xf0, 0x90],       // lock nop
        &[0xf0, 0x01, 0xc0], // lock add eax, eax
        &[0x8d, 0xc0],       // lea eax, eax
        &[0x0f, 0x28, 0xc0], // movaps
        &[0x8e, 0xc8],       // mov cs, ax
    ];
    for code in illegal {
        for name in ["i486dx-50", "p6-200"] {
            let mut bench = Bench::new(name, code).gate(6, 0);
            assert_eq!(bench.run_to_handler(), 6, "{name} {code:x?}");
        }
    }
}

#[test]
fn an_instruction_of_sixteen_bytes_is_too_long() {
    let mut code = vec![0x66; 15];
    code.push(0x90);
    let mut bench = Bench::new("i486dx-50", &code).gate(13, 0);
    assert_eq!(bench.run_to_handler(), 13);
    let mut code = vec![0x3e; 14];
    code.push(0x90);
    let mut bench = Bench::new("i486dx-50", &code);
    assert_eq!(bench.run(1), Stop::Limit);
    assert_eq!(bench.registers().eip, CODE + 15);
}

#[test]
fn programs_may_not_use_what_is_the_systems() {
    let privileged: [&[u8]; 8] = [
        &[0xf4],             // hlt
        &[0xfa],             // cli
        &[0x0f, 0x22, 0xd8], // mov cr3, eax
        &[0x0f, 0x01, 0x38], // invlpg
        &[0x0f, 0x06],       // clts
        &[0x0f, 0x09],       // wbinvd
        &[0xe4, 0x60],       // in al, 0x60
        &[0x0f, 0x01, 0x10], // lgdt
    ];
    for code in privileged {
        let mut bench = Bench::new("i486dx-50", code).user().gate(13, 0);
        assert_eq!(bench.run_to_handler(), 13, "{code:x?}");
        assert_eq!(bench.stacked(0), 0);
    }
}

#[test]
fn ports_are_allowed_by_the_tasks_map() {
    use pagewalk_machine::x86::registers::Segment;
    let code = [0xe4, 0x61, 0xe4, 0x62];
    let mut bench = Bench::new("i486dx-50", &code).user().gate(13, 0);
    bench.registers().tr = Segment::new(0x28, TSS, 0x100, 0x8b);
    // The map begins at 0x68; ports 0x60 to 0x67 are at byte 12: all but 0x61 are forbidden.
    bench.put(TSS + 102, &[0x68, 0]);
    bench.put(TSS + 0x68 + 12, &[0xfd]);
    assert_eq!(bench.run_to_handler(), 13);
    assert_eq!(bench.stacked(1), CODE + 2);
}

#[test]
fn a_fault_within_a_fault_is_a_double_fault() {
    // No gate for #UD, so that #GP follows, which is no double fault; #GP's gate is absent: #NP, and that doubles.
    let mut bench = Bench::new("i486dx-50", UD2).gate(8, 0);
    assert_eq!(bench.run_to_handler(), 8);
    assert_eq!(bench.stacked(0), 0, "its error code");
    assert_eq!(bench.stacked(1), CODE);
}

#[test]
fn a_triple_fault_ends_the_run_and_says_why() {
    let mut bench = Bench::new("i486dx-50", UD2);
    let Stop::Fatal(fatal) = bench.run(100) else {
        panic!("it goes on");
    };
    assert_eq!(
        fatal.to_string(),
        "triple fault at 0x00010000: the processor shuts down after #UD, then #GP, then #GP, then #DF, then #GP"
    );
    assert!(matches!(fatal, Fatal::TripleFault { eip: CODE, .. }));
}

#[test]
fn a_halt_that_nothing_ends_ends_the_run() {
    let mut bench = Bench::new("i486dx-50", &[0xf4]);
    assert_eq!(bench.run(100), Stop::Fatal(Fatal::Asleep { eip: CODE + 1 }));
}

#[test]
fn single_steps_trap_after_each_instruction() {
    // popf with TF; inc eax
    let code = [0x68, 0x02, 0x01, 0, 0, 0x9d, 0x40, 0x40];
    let mut bench = Bench::new("i486dx-50", &code).gate(1, 0);
    assert_eq!(bench.run_to_handler(), 1);
    assert_eq!(
        bench.stacked(0),
        CODE + 7,
        "after the instruction behind POPF"
    );
    assert_eq!(bench.registers().gpr[0], 1);
}

#[test]
fn a_single_step_ends_neither_in_a_handler_nor_behind_a_load_of_ss() {
    // popf with TF; int 0x40
    let code = [0x68, 0x02, 0x01, 0, 0, 0x9d, 0xcd, 0x40];
    let mut bench = Bench::new("i486dx-50", &code).gate(1, 0).gate(0x40, 0);
    assert_eq!(bench.run_to_handler(), 0x40);
    assert_eq!(bench.stacked(0), CODE + 8);
    // mov eax, ss; popf with TF; mov ss, eax; inc eax
    let code = [0x68, 0x02, 0x01, 0, 0, 0x8c, 0xd0, 0x9d, 0x8e, 0xd0, 0x40];
    let mut bench = Bench::new("i486dx-50", &code).gate(1, 0);
    assert_eq!(bench.run_to_handler(), 1);
    assert_eq!(bench.stacked(0), CODE + 11);
}

#[test]
fn divisions_by_zero_and_too_large_quotients_fault() {
    for code in [&[0xf7, 0xf1][..], &[0xf7, 0xf9], &[0xf6, 0xf1], &[0xd4, 0]] {
        let mut bench = Bench::new("i486dx-50", code).gate(0, 0);
        assert_eq!(bench.run_to_handler(), 0, "{code:x?}");
        assert_eq!(bench.stacked(0), CODE);
    }
    let mut bench = Bench::new("i486dx-50", &[0xf7, 0xf1]).gate(0, 0);
    bench.registers().gpr[1] = 1;
    bench.registers().gpr[2] = 1;
    assert_eq!(bench.run_to_handler(), 0);
    // The smallest number by minus one.
    let mut bench = Bench::new("i486dx-50", &[0xf7, 0xf9]).gate(0, 0);
    bench.registers().gpr[..3].copy_from_slice(&[0x8000_0000, u32::MAX, u32::MAX]);
    assert_eq!(bench.run_to_handler(), 0);
}

#[test]
fn alignment_is_checked_for_programs_that_ask_for_it() {
    use pagewalk_machine::x86::registers::cr0;
    let code = [0xa1, 0x01, 0, 2, 0]; // mov eax, [0x20001]
    for (am, ac, user, wanted) in [
        (true, true, true, true),
        (true, true, false, false),
        (false, true, true, false),
        (true, false, true, false),
    ] {
        let mut bench = Bench::new("i486dx-50", &code).gate(17, 0);
        if user {
            bench = bench.user();
        }
        if am {
            bench.registers().cr0 |= cr0::AM;
        }
        if ac {
            bench.registers().set_eflags(eflags::AC, eflags::AC);
        }
        bench.processor().modes_changed();
        if wanted {
            assert_eq!(bench.run_to_handler(), 17);
        } else {
            assert_eq!(bench.run(1), Stop::Limit);
        }
    }
}
