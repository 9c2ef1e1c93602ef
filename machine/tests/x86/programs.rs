//! Programs without a kernel.

use pagewalk_machine::powerpc::machine::Limits;
use pagewalk_machine::shim::Ending;
use pagewalk_machine::x86::shim::Program;

use super::bench::config;
use super::files::executable;

const BASE: u32 = 0x0804_8000;

/// mov register, value
fn mov(register: u8, value: u32) -> Vec<u8> {
    [&[0xb8 | register][..], &value.to_le_bytes()].concat()
}

/// A system call with three arguments.
fn call(number: u32, a: u32, b: u32, c: u32) -> Vec<u8> {
    let mut code = mov(0, number);
    for (register, value) in [(3, a), (1, b), (2, c)] {
        code.extend(mov(register, value));
    }
    code.extend([0xcd, 0x80]);
    code
}

fn run(code: &[u8]) -> (Ending, Vec<u8>) {
    let config = config("i486dx-50", &[]);
    let elf = executable(BASE, code);
    let mut program = Program::new(&config, &elf, "prog", &[b"prog".to_vec()], &[]).unwrap();
    program.capture();
    let ending = program.run(Limits {
        instructions: 10_000,
        ..Limits::NONE
    });
    (ending, program.printed().to_vec())
}

#[test]
fn a_program_prints_and_exits() {
    let mut code = call(4, 1, BASE + 64, 3);
    code.extend(call(1, 7, 0, 0));
    code.resize(64, 0x90);
    code.extend(b"hi\n");
    assert_eq!(run(&code), (Ending::Exited(7), b"hi\n".to_vec()));
}

#[test]
fn errors_are_negative_numbers() {
    // close(99) gives -EBADF, which exit gets.
    let mut code = call(6, 99, 0, 0);
    code.extend([0xf7, 0xd8, 0x89, 0xc3]); // neg eax; mov ebx, eax
    code.extend(mov(0, 1));
    code.extend([0xcd, 0x80]);
    assert_eq!(run(&code).0, Ending::Exited(9));
}

#[test]
fn a_thread_area_is_reached_by_gs() {
    // struct user_desc at BASE + 128: entry -1, base BASE + 256, limit, flags 0x51.
    let mut code = call(243, BASE + 128, 0, 0);
    code.push(0xa1); // mov eax, [BASE + 128]
    code.extend((BASE + 128).to_le_bytes());
    code.extend([0x8d, 0x04, 0xc5, 3, 0, 0, 0]); // lea eax, [eax * 8 + 3]
    code.extend([0x8e, 0xe8]); // mov gs, eax
    code.extend([0x65, 0x8b, 0x1d, 4, 0, 0, 0]); // mov ebx, gs:[4]
    code.extend(mov(0, 1));
    code.extend([0xcd, 0x80]);
    code.resize(128, 0x90);
    for word in [u32::MAX, BASE + 256, 0xf_ffff, 0x51] {
        code.extend(word.to_le_bytes());
    }
    code.resize(260, 0);
    code.extend(55u32.to_le_bytes());
    assert_eq!(run(&code).0, Ending::Exited(55));
}

#[test]
fn what_linux_would_kill_is_killed_and_told() {
    for (code, wanted) in [
        (
            &[0xa1, 0, 0, 0, 0][..],
            "#PF exception of address 0x00000000",
        ),
        (&[0xf4], "#GP exception"),
        (&[0x0f, 0x0b], "#UD exception"),
        (&[0x31, 0xc9, 0xf7, 0xf1], "#DE exception"),
        (&[0xcc], "#BP exception"),
        (&[0xcd, 0x90], "interrupt 144 exception"),
    ] {
        let (ending, _) = run(code);
        let Ending::Killed(text) = ending else {
            panic!("{code:x?}: {ending:?}");
        };
        assert!(text.contains(wanted), "{text}");
    }
    assert_eq!(run(&[0xeb, 0xfe]).0, Ending::Limit);
}

#[test]
fn memory_is_given_and_taken() {
    // mmap2(0, 8192, RW, ANONYMOUS | PRIVATE): write there; munmap; a write is a fault.
    let mut code = mov(0, 192);
    for (register, value) in [(3, 0), (1, 8192), (2, 3), (6, 0x22), (7, u32::MAX), (5, 0)] {
        code.extend(mov(register, value));
    }
    code.extend([0xcd, 0x80]);
    code.extend([0x89, 0x80, 0, 0x10, 0, 0]); // mov [eax + 0x1000], eax
    code.extend([0x89, 0xc3]); // mov ebx, eax
    code.extend(mov(0, 91));
    code.extend(mov(1, 8192));
    code.extend([0xcd, 0x80]);
    code.extend([0x89, 0x03]); // mov [ebx], eax
    let (ending, _) = run(&code);
    assert!(
        matches!(ending, Ending::Killed(text) if text.contains("#PF exception of address 0x4"))
    );
}
