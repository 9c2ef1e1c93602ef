//! gdb-multiarch attaches to an x86 machine.

use super::debugger::gdb;
use super::files::{executable, header};

/// fld1; mov ebx, 77; cld; mov ecx, 5; mov edi, 0x20000; middle: rep stosb; inc edx; power off with 6
fn program() -> (Vec<u8>, u32) {
    let mut text = header(0);
    let start = 0x10_0000 + text.len() as u32;
    text.extend([0xdb, 0xe3, 0xd9, 0xe8, 0xbb, 77, 0, 0, 0, 0xb9, 5, 0, 0, 0]);
    text.extend([0xbf, 0, 0, 2, 0, 0xb0, 0x41]);
    let middle = 0x10_0000 + text.len() as u32;
    text.extend([0xf3, 0xaa, 0x42]);
    text.extend([0xc7, 0x05, 0x08, 0x0f, 0, 0x80, 6, 0, 0, 0, 0xeb, 0xfe]);
    let mut elf = executable(0x10_0000, &text);
    elf[24..28].copy_from_slice(&start.to_le_bytes());
    (elf, middle)
}

#[test]
fn gdb_reads_writes_and_steps() {
    let middle = program().1;
    let commands = [
        &*format!("break *{middle:#x}"),
        "continue",
        "print $ebx",
        "print $st0",
        "print /x $cs",
        "print /x $cr0",
        "print /x $cr4",
        "x/2xb 0x1ffff",
        "x/1xb 0x40000000",
        // A repeated instruction is one step.
        "stepi",
        "print $ecx",
        "x/6xb 0x20000",
        "set $edx = 41",
        "set $st0 = 2.5",
        "print $st0",
        "set {char} 0x20001 = 0x7f",
        "x/2xb 0x20000",
        "stepi",
        "print $edx",
        "info threads",
        "continue",
    ];
    for (machine, others) in [("i486dx-50", false), ("p6-200x2", true)] {
        let (text, status) = gdb(machine, &program().0, "i386", &commands);
        for part in [
            "Breakpoint 1, ",
            "$1 = 77\n",
            "$2 = 1\n",
            "$3 = 0x8\n",
            "$5 = 0x0\n",
            "0x1ffff:\t0x00\t0x00",
            "Cannot access memory at address 0x40000000",
            "$6 = 0\n",
            "0x20000:\t0x41\t0x41\t0x41\t0x41\t0x41\t0x00",
            "$7 = 2.5\n",
            "0x20000:\t0x41\t0x7f",
            "$8 = 42\n",
            "exited with code 06",
        ] {
            assert!(text.contains(part), "{machine}: `{part}` in\n{text}");
        }
        let held = text.contains("processor 1, waits to be started");
        assert_eq!(held, others, "{machine}:\n{text}");
        assert_eq!(status, Some(6), "{text}");
    }
}
