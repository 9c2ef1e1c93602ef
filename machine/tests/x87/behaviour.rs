//! What this computer's unit cannot show: faults of memory operands, pending errors, pointers, and what a core lacks.

use pagewalk_machine::x86::Exception;
use pagewalk_machine::x86::config::Kind;
use pagewalk_machine::x86::x87::{Fpu, Host, Pointers};

const MEMORY: usize = 128;

struct Processor {
    memory: [u8; MEMORY],
    /// Accesses of the operand beyond this offset fault.
    mapped: u32,
    narrow: bool,
    kind: Kind,
    ax: u16,
    pointers: Pointers,
}

const FAULT: Exception = Exception::page(2);

impl Processor {
    fn new() -> Self {
        Processor {
            memory: [0; MEMORY],
            mapped: MEMORY as u32,
            narrow: false,
            kind: Kind::P6,
            ax: 0,
            pointers: Pointers {
                cs: 0x23,
                eip: 0x0804_8123,
                ds: 0x2b,
                offset: 0xbfff_f000,
            },
        }
    }
}

impl Host for Processor {
    fn load(&mut self, offset: u32, bytes: u32) -> Result<u64, Exception> {
        if offset + bytes > self.mapped {
            return Err(FAULT);
        }
        let at = offset as usize;
        let field = self.memory[at..at + bytes as usize].iter().rev();
        Ok(field.fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    fn store(&mut self, offset: u32, bytes: u32, value: u64) -> Result<(), Exception> {
        if offset + bytes > self.mapped {
            return Err(FAULT);
        }
        let at = offset as usize;
        self.memory[at..at + bytes as usize]
            .copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
        Ok(())
    }

    fn set_ax(&mut self, value: u16) {
        self.ax = value;
    }

    fn eflags(&self) -> u32 {
        0
    }

    fn set_eflags(&mut self, _: u32) {}

    fn kind(&self) -> Kind {
        self.kind
    }

    fn pointers(&self) -> Pointers {
        self.pointers
    }

    fn narrow(&self) -> bool {
        self.narrow
    }
}

const FLD1: (u8, u8) = (0xd9, 0xe8);
const FLDZ: (u8, u8) = (0xd9, 0xee);
const FDIVP: (u8, u8) = (0xde, 0xf9);
const FNSAVE: (u8, u8) = (0xdd, 0x30);
const FRSTOR: (u8, u8) = (0xdd, 0x20);
const FLDCW: (u8, u8) = (0xd9, 0x28);
const FNSTSW: (u8, u8) = (0xdf, 0xe0);
const FNSTENV: (u8, u8) = (0xd9, 0x30);
const FLDENV: (u8, u8) = (0xd9, 0x20);

fn run(fpu: &mut Fpu, host: &mut Processor, instruction: (u8, u8)) -> Result<u32, Exception> {
    fpu.execute(instruction.0, instruction.1, host)
}

fn run_all(fpu: &mut Fpu, host: &mut Processor, instructions: &[(u8, u8)]) {
    for &instruction in instructions {
        run(fpu, host, instruction).expect("no exception");
    }
}

#[test]
fn a_memory_operand_that_faults_changes_nothing() {
    for opcode in 0xd8..=0xdf {
        for number in 0..8 {
            for mapped in [0, 8, 20, 28, 40] {
                let (mut fpu, mut host) = (Fpu::new(), Processor::new());
                run_all(&mut fpu, &mut host, &[FLD1, FLDZ, FLD1]);
                host.mapped = mapped;
                let before = fpu.clone();
                if let Err(fault) = run(&mut fpu, &mut host, (opcode, number << 3)) {
                    assert_eq!(fpu, before, "{opcode:x} /{number}");
                    assert!(fault == FAULT || fault == Exception::INVALID_OPCODE);
                } else {
                    assert_ne!(mapped, 0, "{opcode:x} /{number} has an operand");
                }
            }
        }
    }
}

#[test]
fn an_unmasked_error_is_reported_by_the_next_instruction_that_waits() {
    let (mut fpu, mut host) = (Fpu::new(), Processor::new());
    // Division by zero is not masked.
    host.memory[..2].copy_from_slice(&0x037b_u16.to_le_bytes());
    run_all(&mut fpu, &mut host, &[FLDCW, FLD1, FLDZ, FDIVP]);
    assert_eq!(fpu.wait(), Err(Exception::FLOAT));
    run_all(&mut fpu, &mut host, &[FNSTSW]);
    assert_eq!(host.ax & 0x8084, 0x8084);
    assert_eq!(run(&mut fpu, &mut host, FLD1), Err(Exception::FLOAT));
    // FNSTENV masks all exceptions, so that nothing is pending.
    run_all(&mut fpu, &mut host, &[FNSTENV, FLD1]);
    assert_eq!(fpu.wait(), Ok(()));
}

#[test]
fn an_image_names_the_last_instruction_and_its_operand() {
    let (mut fpu, mut host) = (Fpu::new(), Processor::new());
    // FLD of a double, then what leaves the pointers alone.
    run_all(&mut fpu, &mut host, &[(0xdd, 0x05)]);
    let last = host.pointers;
    host.pointers.eip += 6;
    run_all(&mut fpu, &mut host, &[FNSTSW, FNSAVE]);
    let word = |n: usize| u32::from_le_bytes(host.memory[4 * n..4 * n + 4].try_into().expect("4"));
    assert_eq!(word(3), last.eip);
    assert_eq!(word(4), 0x0505_0000 & 0x07ff_0000 | u32::from(last.cs));
    assert_eq!(word(5), last.offset);
    assert_eq!(word(6) & 0xffff, u32::from(last.ds));
}

#[test]
fn both_forms_of_the_image_come_back() {
    for narrow in [false, true] {
        let (mut fpu, mut host) = (Fpu::new(), Processor::new());
        host.narrow = narrow;
        run_all(&mut fpu, &mut host, &[FLD1, FLDZ, FLD1]);
        let before = fpu.clone();
        run_all(&mut fpu, &mut host, &[FNSAVE]);
        assert_ne!(fpu, before);
        run_all(&mut fpu, &mut host, &[FRSTOR, FNSAVE]);
        let image = host.memory;
        run_all(&mut fpu, &mut host, &[FRSTOR, FNSTENV]);
        let size = if narrow { 14 } else { 28 };
        assert_eq!(host.memory[..size], image[..size]);
        run_all(&mut fpu, &mut host, &[FLDENV]);
    }
}

#[test]
fn an_i486_has_no_conditional_moves_and_no_comparison_to_flags() {
    let (mut fpu, mut host) = (Fpu::new(), Processor::new());
    host.kind = Kind::I486;
    for instruction in [(0xda, 0xc1), (0xdb, 0xd9), (0xdb, 0xf1), (0xdf, 0xe9)] {
        assert_eq!(
            run(&mut fpu, &mut host, instruction),
            Err(Exception::INVALID_OPCODE)
        );
    }
    // Nor has any of them FISTTP.
    host.kind = Kind::P6;
    for instruction in [
        (0xdb, 0x08),
        (0xdd, 0x08),
        (0xdf, 0x08),
        (0xd9, 0xd1),
        (0xdb, 0xff),
    ] {
        assert_eq!(
            run(&mut fpu, &mut host, instruction),
            Err(Exception::INVALID_OPCODE)
        );
    }
}

#[test]
fn every_instruction_runs_or_is_no_instruction() {
    for opcode in 0xd8..=0xdf {
        for modrm in 0..=0xff {
            let (mut fpu, mut host) = (Fpu::new(), Processor::new());
            match run(&mut fpu, &mut host, (opcode, modrm)) {
                Ok(clocks) => assert!(clocks > 0),
                Err(fault) => assert_eq!(fault, Exception::INVALID_OPCODE),
            }
        }
    }
}
