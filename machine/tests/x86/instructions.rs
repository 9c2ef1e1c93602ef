//! Instructions whose results are easily got wrong, by hand. Random sequences go against qemu-i386.

use pagewalk_machine::x86::Stop;
use pagewalk_machine::x86::registers::eflags;

use super::bench::{Bench, CODE, DATA, STACK};

fn after(code: &[u8], eax: u32, ebx: u32, ecx: u32) -> Bench {
    let mut bench = Bench::new("p6-200", code);
    let registers = bench.registers();
    registers.gpr[0] = eax;
    registers.gpr[3] = ebx;
    registers.gpr[1] = ecx;
    assert_eq!(bench.run(1), Stop::Limit);
    assert_eq!(bench.registers().eip, CODE + code.len() as u32, "{code:x?}");
    bench
}

#[test]
fn bytes_are_the_lower_two_of_four_registers() {
    let mut bench = after(&[0x00, 0xdc], 0x0102_0304, 0x10, 0); // add ah, bl
    assert_eq!(bench.registers().gpr[0], 0x0102_1304);
}

#[test]
fn increment_keeps_the_carry() {
    // stc; inc eax
    let mut bench = Bench::new("i486dx-50", &[0xf9, 0x40]);
    bench.registers().gpr[0] = 0x7fff_ffff;
    bench.run(2);
    let flags = bench.flags();
    assert_ne!(flags & eflags::CF, 0);
    assert_ne!(flags & eflags::OF, 0);
}

/// Software takes a processor on which this test changes no flag for one of Cyrix's.
#[test]
fn a_division_changes_flags() {
    for (code, name) in [([0xf6, 0xf3], "div"), ([0xf6, 0xfb], "idiv")] {
        // sahf; div bl; lahf
        let code = [&[0x9e][..], &code, &[0x9f]].concat();
        for machine in ["i486dx-50", "p6-200"] {
            let mut bench = Bench::new(machine, &code);
            bench.registers().gpr[0] = 5;
            bench.registers().gpr[3] = 2;
            bench.run(3);
            let eax = bench.registers().gpr[0];
            assert_eq!(eax & 0xff, 2, "{name}");
            assert_ne!(eax >> 8, 2, "{name} on {machine}");
        }
    }
}

#[test]
fn a_shift_by_zero_changes_no_flag() {
    // stc; shl eax, cl
    let mut bench = Bench::new("i486dx-50", &[0xf9, 0xd3, 0xe0]);
    bench.registers().gpr[1] = 32;
    bench.run(2);
    assert_ne!(bench.flags() & eflags::CF, 0);
}

#[test]
fn rotates_through_carry() {
    // rcr al, 9 turns by the whole: nothing changes. rcl ax, 1
    let mut bench = after(&[0xc0, 0xd8, 9], 0x5a, 0, 0);
    assert_eq!(bench.registers().gpr[0], 0x5a);
    let mut bench = after(&[0x66, 0xd1, 0xd0], 0x8000, 0, 0);
    assert_eq!(bench.registers().gpr[0], 0);
    assert_ne!(bench.flags() & eflags::CF, 0);
}

#[test]
fn bit_strings_reach_beyond_their_operand() {
    // bts [DATA], ecx with bit -1: the last of the word before.
    let code = [&[0x0f, 0xab, 0x0d][..], &(DATA + 4).to_le_bytes()].concat();
    let bench = after(&code, 0, 0, u32::MAX);
    assert_eq!(bench.word(DATA), 0x8000_0000);
}

#[test]
fn decimal_digits() {
    // daa after 0x38 + 0x45: 83
    let mut bench = Bench::new("i486dx-50", &[0x04, 0x45, 0x27]);
    bench.registers().gpr[0] = 0x38;
    bench.run(2);
    assert_eq!(bench.registers().gpr[0], 0x83);
    let mut bench = after(&[0xd4, 10], 0x3f, 0, 0);
    assert_eq!(bench.registers().gpr[0], 0x0603);
    let mut bench = after(&[0xd5, 10], 0x0603, 0, 0);
    assert_eq!(bench.registers().gpr[0], 63);
}

#[test]
fn strings_go_both_ways_and_stop_where_their_condition_says() {
    // repne scasb
    let mut bench = Bench::new("i486dx-50", &[0xf2, 0xae]);
    bench.put(DATA, b"pagewalk");
    let registers = bench.registers();
    registers.gpr[0] = u32::from(b'w');
    registers.gpr[1] = 100;
    registers.gpr[7] = DATA;
    bench.run(1);
    assert_eq!(bench.registers().gpr[7], DATA + 5);
    assert_eq!(bench.registers().gpr[1], 95);
    // std; rep movsb: overlapping, from the end.
    let mut bench = Bench::new("i486dx-50", &[0xfd, 0xf3, 0xa4]);
    bench.put(DATA, b"abcdef");
    let registers = bench.registers();
    registers.gpr[1] = 6;
    registers.gpr[6] = DATA + 5;
    registers.gpr[7] = DATA + 7;
    bench.run(2);
    assert_eq!(bench.word(DATA + 2), u32::from_le_bytes(*b"abcd"));
    assert_eq!(bench.registers().gpr[6], DATA - 1);
}

#[test]
fn a_repeated_string_instruction_faults_between_its_elements() {
    use pagewalk_machine::x86::registers::{Segment, segment};
    // rep stosd over the end of ES
    let mut bench = Bench::new("i486dx-50", &[0xf3, 0xab]).gate(13, 0);
    let es = Segment::new(0x10, 0, DATA + 0xf, 0x4093);
    bench.registers().segments[usize::from(segment::ES)] = es;
    let registers = bench.registers();
    registers.gpr[0] = 7;
    registers.gpr[1] = 10;
    registers.gpr[7] = DATA;
    assert_eq!(bench.run_to_handler(), 13);
    assert_eq!(bench.stacked(1), CODE);
    assert_eq!(bench.registers().gpr[1], 6);
    assert_eq!(bench.registers().gpr[7], DATA + 16);
    assert_eq!(bench.word(DATA + 12), 7);
}

#[test]
fn addresses_of_sixteen_bits_wrap() {
    // mov al, [bx + si + 2] with 0xffff in each: 0x10000 wraps to 0
    let mut bench = Bench::new("i486dx-50", &[0x67, 0x8a, 0x40, 0x02]);
    bench.put(0, &[0x5a]);
    bench.registers().gpr[3] = 0xffff;
    bench.registers().gpr[6] = 0xffff;
    bench.run(1);
    assert_eq!(bench.registers().gpr[0], 0x5a);
}

#[test]
fn enter_and_leave_build_and_drop_a_frame() {
    // enter 16, 1; leave
    let mut bench = Bench::new("i486dx-50", &[0xc8, 16, 0, 1, 0xc9]);
    bench.registers().gpr[5] = 0x1234;
    bench.run(1);
    assert_eq!(bench.registers().gpr[5], STACK - 4);
    assert_eq!(bench.registers().gpr[4], STACK - 24);
    assert_eq!(bench.word(STACK - 4), 0x1234);
    assert_eq!(bench.word(STACK - 8), STACK - 4);
    bench.run(1);
    assert_eq!(bench.registers().gpr[5], 0x1234);
    assert_eq!(bench.registers().gpr[4], STACK);
}

#[test]
fn compare_and_exchange() {
    // cmpxchg [DATA], ecx
    let code = [&[0x0f, 0xb1, 0x0d][..], &DATA.to_le_bytes()].concat();
    let mut bench = after(&code, 0, 0, 9);
    assert_eq!(bench.word(DATA), 9);
    assert_ne!(bench.flags() & eflags::ZF, 0);
    let mut bench = after(&code, 5, 0, 9);
    assert_eq!((bench.word(DATA), bench.registers().gpr[0]), (0, 0));
    assert_eq!(bench.flags() & eflags::ZF, 0);
}

#[test]
fn pop_to_memory_uses_the_new_stack_pointer() {
    // pop [esp]
    let mut bench = Bench::new("i486dx-50", &[0x8f, 0x04, 0x24]);
    bench.put_word(STACK, 0x77);
    bench.run(1);
    assert_eq!(bench.word(STACK + 4), 0x77);
}

#[test]
fn flags_that_a_program_may_not_change_stay() {
    // popf in ring 3 with everything set; pushf
    let mut bench = Bench::new("i486dx-50", &[0x9d, 0x9c]).user();
    bench.put_word(STACK, 0x003f_7ed7);
    bench.run(1);
    let flags = bench.registers().eflags();
    assert_eq!(
        flags & (eflags::IOPL | eflags::IF | eflags::VM | eflags::ID),
        0
    );
    assert_ne!(flags & eflags::AC, 0, "an i486 has AC");
}
