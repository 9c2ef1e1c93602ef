//! One instruction by this computer's floating-point unit, and by ours.

use std::arch::{asm, global_asm};
use std::fmt;

use pagewalk_machine::x86::Exception;
use pagewalk_machine::x86::config::Kind;
use pagewalk_machine::x86::x87::{Fpu, Host, Pointers};

/// Bytes of the image that FNSAVE stores.
pub const IMAGE: usize = 108;

/// An instruction and what it begins with.
#[derive(Clone, Debug)]
pub struct Case {
    /// The low three bits of the first byte.
    pub opcode: u8,
    pub modrm: u8,
    pub image: [u8; IMAGE],
    pub operand: [u8; IMAGE],
    pub eflags: u32,
}

/// What it ends with.
#[derive(Clone, PartialEq, Eq)]
pub struct End {
    pub control: u16,
    pub status: u16,
    pub tags: u16,
    /// From the top of the stack.
    pub registers: [(u16, u64); 8],
    pub operand: Vec<u8>,
    pub eflags: u32,
    pub ax: u16,
}

impl fmt::Display for End {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "cw {:04x} sw {:04x} tags {:04x} flags {:02x} ax {:04x}",
            self.control, self.status, self.tags, self.eflags, self.ax
        )?;
        for (head, significand) in self.registers.iter().take(3) {
            write!(out, " {head:04x}:{significand:016x}")?;
        }
        write!(out, " [")?;
        let mut bytes = self.operand.iter().take(10).rev();
        bytes.try_for_each(|byte| write!(out, "{byte:02x}"))?;
        write!(out, "]")
    }
}

fn half(image: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([image[at], image[at + 1]])
}

pub fn register(image: &[u8], i: usize) -> (u16, u64) {
    let at = 28 + 10 * i;
    let significand = image[at..at + 8].try_into().expect("eight bytes");
    (half(image, at + 8), u64::from_le_bytes(significand))
}

fn end(image: &[u8; IMAGE], operand: &[u8; IMAGE], eflags: u32, ax: u16) -> End {
    End {
        control: half(image, 0),
        status: half(image, 4),
        tags: half(image, 8),
        registers: std::array::from_fn(|i| register(image, i)),
        operand: operand.to_vec(),
        eflags: eflags & 0x8d5,
        ax,
    }
}

impl Case {
    /// The instruction D9 `modrm` of the two registers on top of the stack; six are empty.
    pub fn of(modrm: u8, control: u16, registers: [(u16, u64); 2]) -> Case {
        let mut image = [0; IMAGE];
        image[..2].copy_from_slice(&control.to_le_bytes());
        image[8..10].copy_from_slice(&0xfff0_u16.to_le_bytes());
        for (field, (head, significand)) in image[28..].chunks_exact_mut(10).zip(registers) {
            field[..8].copy_from_slice(&significand.to_le_bytes());
            field[8..].copy_from_slice(&head.to_le_bytes());
        }
        Case {
            opcode: 1,
            modrm,
            image,
            operand: [0; IMAGE],
            eflags: 0,
        }
    }

    /// The instruction, whatever its register.
    pub fn group(&self) -> (u8, u8) {
        let one_of_eight = self.modrm >= 0xc0 && self.opcode != 1;
        (
            self.opcode,
            if one_of_eight {
                self.modrm & !7
            } else {
                self.modrm
            },
        )
    }

    pub fn describe(&self) -> String {
        let start = end(&self.image, &self.operand, self.eflags, 0);
        format!("{:02x} {:02x}: {start}", 0xd8 + self.opcode, self.modrm)
    }
}

// A routine for each instruction: 64 forms of registers for each first byte, then 8 of memory at rsi. The image is at
// rdi; edx has the flags, and eax returns AX in its lower half and the flags in rdx.
global_asm!(
    ".p2align 5",
    "pagewalk_x87_table:",
    ".set pagewalk_opcode, 0xd8",
    ".rept 8",
    ".set pagewalk_modrm, 0xc0",
    ".rept 64",
    ".p2align 5",
    "frstor [rdi]",
    "push rdx",
    "popfq",
    ".byte pagewalk_opcode, pagewalk_modrm",
    "pushfq",
    "pop rdx",
    "fnsave [rdi]",
    "ret",
    ".set pagewalk_modrm, pagewalk_modrm + 1",
    ".endr",
    ".set pagewalk_modrm, 0x06",
    ".rept 8",
    ".p2align 5",
    "frstor [rdi]",
    "push rdx",
    "popfq",
    ".byte pagewalk_opcode, pagewalk_modrm",
    "pushfq",
    "pop rdx",
    "fnsave [rdi]",
    "ret",
    ".set pagewalk_modrm, pagewalk_modrm + 8",
    ".endr",
    ".set pagewalk_opcode, pagewalk_opcode + 1",
    ".endr",
);

unsafe extern "C" {
    static pagewalk_x87_table: [u8; 8 * 72 * 32];
}

/// Arithmetic flags, and the reserved bit that is always set.
const FLAGS: u32 = 0x8d5;

pub fn theirs(case: &Case) -> End {
    let form = if case.modrm >= 0xc0 {
        usize::from(case.modrm) - 0xc0
    } else {
        64 + usize::from(case.modrm >> 3)
    };
    let at = (usize::from(case.opcode) * 72 + form) * 32;
    let (mut image, mut operand) = (case.image, case.operand);
    let (mut flags, mut ax) = (u64::from(case.eflags & FLAGS | 2), 0_u64);
    // SAFETY: every routine of the table has 32 bytes; it reads and writes the two buffers, which have room for the
    // largest operand, and the registers that are named here. FNSAVE leaves the unit as FNINIT does, which is what the
    // calling convention asks for.
    unsafe {
        let routine = std::ptr::addr_of!(pagewalk_x87_table).cast::<u8>().add(at);
        asm!(
            "call {routine}",
            routine = in(reg) routine,
            in("rdi") &raw mut image,
            in("rsi") &raw mut operand,
            inout("rax") ax,
            inout("rdx") flags,
            out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
            out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
        );
    }
    end(&image, &operand, flags as u32, ax as u16)
}

struct Memory<'a> {
    bytes: &'a mut [u8; IMAGE],
    eflags: u32,
    ax: u16,
}

impl Host for Memory<'_> {
    fn load(&mut self, offset: u32, bytes: u32) -> Result<u64, Exception> {
        let at = offset as usize;
        let field = self.bytes[at..at + bytes as usize].iter().rev();
        Ok(field.fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    fn store(&mut self, offset: u32, bytes: u32, value: u64) -> Result<(), Exception> {
        let at = offset as usize;
        self.bytes[at..at + bytes as usize].copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
        Ok(())
    }

    fn set_ax(&mut self, value: u16) {
        self.ax = value;
    }

    fn eflags(&self) -> u32 {
        self.eflags
    }

    fn set_eflags(&mut self, flags: u32) {
        self.eflags = flags;
    }

    fn kind(&self) -> Kind {
        Kind::P6
    }

    fn pointers(&self) -> Pointers {
        Pointers::default()
    }

    fn narrow(&self) -> bool {
        false
    }
}

/// Runs an instruction on `bytes`, and gives the flags and AX.
fn run(
    fpu: &mut Fpu,
    bytes: &mut [u8; IMAGE],
    (opcode, modrm): (u8, u8),
    eflags: u32,
) -> (u32, u16) {
    let mut memory = Memory {
        bytes,
        eflags,
        ax: 0,
    };
    fpu.execute(0xd8 + opcode, modrm, &mut memory)
        .unwrap_or_else(|fault| panic!("{:02x} {modrm:02x}: {fault}", 0xd8 + opcode));
    (memory.eflags, memory.ax)
}

pub fn ours(case: &Case) -> End {
    let mut fpu = Fpu::new();
    let (mut image, mut operand) = (case.image, case.operand);
    run(&mut fpu, &mut image, (5, 4 << 3), 0);
    let instruction = (case.opcode, case.modrm);
    let flags = case.eflags & FLAGS | 2;
    let (eflags, ax) = run(&mut fpu, &mut operand, instruction, flags);
    run(&mut fpu, &mut image, (5, 6 << 3), 0);
    end(&image, &operand, eflags, ax)
}
