//! From bytes to an [`Op`] (SDM volume 2, appendix A).

mod flags;
#[macro_use]
mod forms;
mod high;
mod joined;
mod low;
mod second;

use serde::{Deserialize, Serialize};

use super::chain::Chain;
use super::clocks::Class;
use super::config::Kind;
use super::execute::arithmetic::{illegal, too_long};
use super::execute::string::repeat;
use super::op::{NARROW_ADDRESS, Op, Ways, WithJump, ways};
use super::registers::{gpr, segment};
pub use flags::FlagsUse;

/// The longest instruction.
pub const LONGEST: usize = 15;

/// A decoded instruction.
#[derive(Clone, Copy)]
pub struct Decoded {
    pub op: Op,
    pub length: usize,
    /// It ends a block: it jumps, or changes what the next instruction must see.
    pub ends: bool,
    /// Its chain ends the block.
    pub jumps: bool,
    /// Its chain takes it for one that works on registers alone, raises no exception, and takes as long as it says.
    #[cfg(test)]
    plain: bool,
    /// The condition of a conditional jump, unless it has 16 bits.
    pub condition: Option<u8>,
    /// The chains of the instruction together with a conditional jump behind it.
    pub with_jump: Option<WithJump>,
    /// What it does with the flags of arithmetic.
    pub flags: FlagsUse,
    /// Its chain where nothing reads the flags that it gives.
    pub quiet: Option<Chain>,
    /// General registers that it writes early enough for the next instruction's address to wait: one bit each.
    pub writes: u8,
    /// The register of its address that such a write makes wait: one bit, or none.
    pub waits: u8,
    /// What else a compiler asks of it.
    pub form: Form,
}

/// Of an instruction, beside its [`Op`].
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Its opcode; with 0x0f in the upper half that of the second map. `None`: it is illegal.
    pub opcode: Option<u16>,
    /// Its operands have 16 bits, if they have no other size.
    pub narrow: bool,
    /// ModRM names a register.
    pub register: bool,
}

/// How code is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    pub kind: Kind,
    /// Operands and addresses have 32 bits unless a prefix says otherwise.
    pub wide: bool,
    /// What the LOCK prefix adds, in slots.
    pub lock: u16,
    /// How many slots an address waits for a register that the instruction before wrote: on a P6, that it loaded.
    pub wait: u16,
}

/// The instruction that `bytes` begin with; `None` if it goes on behind them. `written`: registers that the instruction
/// before wrote.
#[must_use]
pub fn decode(bytes: &[u8], mode: Mode, written: u8) -> Option<Decoded> {
    let bytes = &bytes[..bytes.len().min(LONGEST)];
    let mut decoder = Decoder::new(bytes, mode);
    if decoder.instruction().is_none() {
        if bytes.len() < LONGEST {
            return None;
        }
        decoder.ways = ways!(too_long);
        decoder.op = Op::new(decoder.ways.run, decoder.ways.chain);
        decoder.at = LONGEST;
        decoder.ends = true;
    }
    Some(decoder.finish(written))
}

/// A repeated string instruction that has stopped between two elements. It goes on without a second fetch, and without
/// paying for its beginning again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeating {
    opcode: u8,
    repeat: u8,
    segment: u8,
    /// Operands have 16 bits.
    narrow: bool,
    /// Addresses have 16 bits.
    narrow_address: bool,
    /// Its bytes.
    pub length: u8,
}

impl Repeating {
    /// What `op`, a repeated string instruction, does.
    #[must_use]
    pub fn of(op: &Op) -> Self {
        Repeating {
            opcode: op.immediate as u8,
            repeat: op.extra,
            segment: op.segment,
            narrow: op.immediate & STRING_NARROW != 0,
            narrow_address: op.scale & NARROW_ADDRESS != 0,
            length: op.length,
        }
    }

    /// The op that goes on with it.
    #[must_use]
    pub fn op(self, mode: Mode) -> Option<Op> {
        let mut decoder = Decoder::new(&[], mode);
        decoder.narrow = self.narrow;
        decoder.narrow_address = self.narrow_address;
        decoder.segment = Some(self.segment);
        decoder.repeat = self.repeat;
        decoder.op.extra = self.opcode;
        match self.opcode {
            0x6c..=0x6f => decoder.sixties(self.opcode)?,
            0xa4..=0xa7 | 0xaa..=0xaf => decoder.moves_and_strings(self.opcode)?,
            _ => return None,
        }
        decoder.op.run = decoder.ways.run;
        decoder.op.length = self.length;
        Some(decoder.op)
    }
}

/// [`Op::immediate`] of a string instruction: its operands have 16 bits. The low byte is the opcode.
const STRING_NARROW: u32 = 1 << 8;

struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
    mode: Mode,
    /// Operands have 16 bits.
    narrow: bool,
    /// Addresses have 16 bits.
    narrow_address: bool,
    segment: Option<u8>,
    repeat: u8,
    lock: bool,
    prefixes: u16,
    opcode: u8,
    /// The opcode in the second map.
    second: u8,
    op: Op,
    ways: Ways,
    class: Class,
    ends: bool,
    condition: Option<u8>,
    /// LOCK is allowed.
    lockable: bool,
    writes: u8,
    /// ModRM names a register.
    register_form: bool,
    has_displacement: bool,
    has_immediate: bool,
}

impl<'a> Decoder<'a> {
    fn new(bytes: &'a [u8], mode: Mode) -> Self {
        let ways = ways!(illegal);
        Decoder {
            bytes,
            at: 0,
            mode,
            narrow: !mode.wide,
            narrow_address: !mode.wide,
            segment: None,
            repeat: repeat::ONCE,
            lock: false,
            prefixes: 0,
            opcode: 0,
            second: 0,
            op: Op::new(ways.run, ways.chain),
            ways,
            class: Class::Illegal,
            ends: false,
            condition: None,
            lockable: false,
            writes: 0,
            register_form: false,
            has_displacement: false,
            has_immediate: false,
        }
    }
}

impl Decoder<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn word(&mut self) -> Option<u32> {
        Some(u32::from(self.byte()?) | u32::from(self.byte()?) << 8)
    }

    fn double(&mut self) -> Option<u32> {
        Some(self.word()? | self.word()? << 16)
    }

    fn signed_byte(&mut self) -> Option<u32> {
        Some(i32::from(self.byte()?.cast_signed()).cast_unsigned())
    }

    /// An immediate of the operand size.
    fn immediate(&mut self) -> Option<()> {
        self.op.immediate = if self.narrow {
            self.word()?
        } else {
            self.double()?
        };
        self.has_immediate = true;
        Some(())
    }

    fn immediate_byte(&mut self) -> Option<()> {
        self.op.immediate = self.byte()?.into();
        self.has_immediate = true;
        Some(())
    }

    /// A byte whose sign is extended.
    fn immediate_signed(&mut self) -> Option<()> {
        self.op.immediate = self.signed_byte()?;
        self.has_immediate = true;
        Some(())
    }

    fn set(&mut self, ways: Ways, class: Class) {
        self.ways = ways;
        self.class = class;
    }

    /// Of a register form, or of a form with memory.
    fn set_by_form(&mut self, ways: Ways, register: Class, memory: Class) {
        let class = if self.register_form { register } else { memory };
        self.set(ways, class);
    }

    /// ModRM, SIB and displacement.
    fn modrm(&mut self) -> Option<u8> {
        let modrm = self.byte()?;
        self.op.reg = modrm >> 3 & 7;
        self.op.rm = modrm & 7;
        self.register_form = modrm >= 0xc0;
        if self.register_form {
            return Some(modrm);
        }
        let default = if self.narrow_address {
            self.narrow_form(modrm)?
        } else {
            self.wide_form(modrm)?
        };
        self.op.segment = self.segment.unwrap_or(default);
        Some(modrm)
    }

    /// An address of 16 bits; returns its usual segment.
    fn narrow_form(&mut self, modrm: u8) -> Option<u8> {
        use gpr::{EBP, EBX, EDI, ESI, NONE};
        let (base, index) = match modrm & 7 {
            0 => (EBX, ESI),
            1 => (EBX, EDI),
            2 => (EBP, ESI),
            3 => (EBP, EDI),
            4 => (ESI, NONE),
            5 => (EDI, NONE),
            6 => (EBP, NONE),
            _ => (EBX, NONE),
        };
        self.op.scale = NARROW_ADDRESS;
        (self.op.base, self.op.index) = (base, index);
        match modrm >> 6 {
            0 if modrm & 7 == 6 => {
                self.op.base = NONE;
                self.op.displacement = self.word()?;
                self.has_displacement = true;
                return Some(segment::DS);
            }
            0 => {}
            1 => {
                self.op.displacement = self.signed_byte()?;
                self.has_displacement = true;
            }
            _ => {
                self.op.displacement = self.word()?;
                self.has_displacement = true;
            }
        }
        Some(if base == EBP {
            segment::SS
        } else {
            segment::DS
        })
    }

    /// An address of 32 bits; returns its usual segment.
    fn wide_form(&mut self, modrm: u8) -> Option<u8> {
        use gpr::{EBP, ESP, NONE};
        let (way, rm) = (modrm >> 6, modrm & 7);
        let mut base = rm;
        if rm == ESP {
            let sib = self.byte()?;
            let index = sib >> 3 & 7;
            self.op.index = if index == ESP { NONE } else { index };
            self.op.scale = sib >> 6;
            base = sib & 7;
        }
        if base == EBP && way == 0 {
            self.op.base = NONE;
            self.op.displacement = self.double()?;
            self.has_displacement = true;
            return Some(segment::DS);
        }
        self.op.base = base;
        match way {
            0 => {}
            1 => {
                self.op.displacement = self.signed_byte()?;
                self.has_displacement = true;
            }
            _ => {
                self.op.displacement = self.double()?;
                self.has_displacement = true;
            }
        }
        Some(if base == ESP || base == EBP {
            segment::SS
        } else {
            segment::DS
        })
    }

    fn prefixes(&mut self) -> Option<u8> {
        loop {
            let byte = self.byte()?;
            match byte {
                0x26 => self.segment = Some(segment::ES),
                0x2e => self.segment = Some(segment::CS),
                0x36 => self.segment = Some(segment::SS),
                0x3e => self.segment = Some(segment::DS),
                0x64 => self.segment = Some(segment::FS),
                0x65 => self.segment = Some(segment::GS),
                0x66 => self.narrow = self.mode.wide,
                0x67 => self.narrow_address = self.mode.wide,
                0xf0 => self.lock = true,
                0xf2 | 0xf3 => self.repeat = byte,
                _ => return Some(byte),
            }
            self.prefixes += 1;
        }
    }

    fn finish(mut self, written: u8) -> Decoded {
        let kind = self.mode.kind;
        let mut waits = 0;
        if self.lock && !self.lockable {
            self.set(ways!(illegal), Class::Illegal);
            self.ends = true;
        }
        self.ends |= self.class == Class::Illegal;
        let mut slots = self.class.slots(kind);
        if self.lock && self.lockable {
            slots += self.mode.lock;
        }
        if kind == Kind::I486 {
            slots += self.prefixes;
            slots += u16::from(self.has_displacement && self.has_immediate);
            if !self.register_form && self.op.index != gpr::NONE && self.class != Class::LeaIndex {
                slots += 1;
            }
            if self.op.base != gpr::NONE {
                waits = 1 << (self.op.base & 7);
            }
        } else {
            let address =
                !self.register_form && !matches!(self.class, Class::Lea | Class::LeaIndex);
            for register in [self.op.base, self.op.index] {
                if address && register != gpr::NONE {
                    waits |= 1 << (register & 7);
                }
            }
            let loads = matches!(self.class, Class::Load | Class::AluLoad | Class::Pop)
                || self.class == Class::Extend && !self.register_form;
            if !loads {
                self.writes = 0;
            }
        }
        if written & waits != 0 {
            slots += self.mode.wait;
        }
        self.op.slots = slots;
        self.op.length = self.at as u8;
        self.op.run = self.ways.run;
        let plain = self.is_plain();
        self.op.chain = if plain {
            self.ways.plain_chain
        } else if let Some(chain) = self.at_once() {
            chain
        } else {
            self.ways.chain
        };
        Decoded {
            op: self.op,
            length: self.at,
            ends: self.ends,
            jumps: self.ways.jumps,
            #[cfg(test)]
            plain,
            condition: self.condition.filter(|_| self.ways.jumps),
            with_jump: self.with_jump(),
            flags: if plain {
                self.flags_use()
            } else {
                FlagsUse::Other
            },
            quiet: if plain { self.quiet() } else { None },
            writes: self.writes,
            waits,
            form: self.form(),
        }
    }

    fn form(&self) -> Form {
        let opcode = match self.opcode {
            0x0f => 0x0f00 | u16::from(self.second),
            opcode => opcode.into(),
        };
        Form {
            opcode: (self.class != Class::Illegal).then_some(opcode),
            narrow: self.narrow,
            register: self.register_form,
        }
    }

    /// It works on registers alone, raises no exception, and takes as long as it says.
    fn is_plain(&self) -> bool {
        match self.class {
            Class::Alu => !self.ends,
            Class::Extend => self.register_form,
            Class::Move
            | Class::Lea
            | Class::LeaIndex
            | Class::ShiftRegister
            | Class::ShiftImmediate
            | Class::ShiftDouble
            | Class::ShiftDoubleCount
            | Class::RotateCarry
            | Class::Exchange
            | Class::ConvertByte
            | Class::ConvertWord
            | Class::ByteSwap
            | Class::Set
            | Class::Flag
            | Class::Nop => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Console;
    use crate::x86::flags::Flags;
    use crate::x86::processor::Processor;
    use crate::x86::registers::Registers;
    use crate::x86::{Config, Machine};

    /// All that a plain instruction must leave alone: the time and when something is due, what is counted, and every
    /// register but the general ones and the flags of arithmetic and of the direction.
    fn rest(p: &Processor) -> String {
        let registers = Registers {
            gpr: [0; 16],
            flags: crate::x86::flags::Flags::default(),
            system: p.registers.system & !crate::x86::registers::eflags::DF,
            ..p.registers.clone()
        };
        let times = (
            p.time,
            p.running.deadline,
            p.due,
            p.instructions,
            p.inhibited,
        );
        let counts = (p.accesses, p.fetches, p.branches, p.fetched);
        format!(
            "{registers:?} {times:?} {counts:?} {:?}",
            p.account.counters
        )
    }

    /// What the chain takes for plain is plain, whatever its operands are.
    #[test]
    fn plain_instructions_do_no_more_than_the_chain_allows() {
        let mut state = 1_u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 8
        };
        for name in ["i486dx-50", "p6-200"] {
            let file = format!("{}/../machines/{name}.toml", env!("CARGO_MANIFEST_DIR"));
            let config = Config::from_file(file.as_ref(), &[]).unwrap();
            let mut machine = Machine::build(&config, Console::memory(), &[]).unwrap();
            let processor = machine.processor_mut();
            let (mut seen, mut uses) = (0, [0; 4]);
            for number in 0..512 * 24_u32 {
                let mut bytes: Vec<u8> = match number >> 9 & 3 {
                    1 => vec![0x66],
                    2 => vec![0x67],
                    _ => vec![],
                };
                if number & 256 != 0 {
                    bytes.push(0x0f);
                }
                bytes.push(number as u8);
                bytes.extend((0..LONGEST).map(|_| random() as u8));
                let mode = Mode {
                    kind: config.core.kind,
                    wide: number >> 11 & 1 == 0,
                    lock: 1,
                    wait: 1,
                };
                let decoded = decode(&bytes, mode, 0).unwrap();
                // What runs together with a jump is plain, or reads memory first.
                let mut decoder = Decoder::new(&bytes, mode);
                let reads = decoder.instruction().is_some() && decoder.class == Class::Compare;
                let joined = decoded.with_jump.is_some();
                assert!(!joined || decoded.plain || reads, "{name}: {bytes:02x?}");
                if !decoded.plain {
                    continue;
                }
                seen += 1;
                for register in &mut processor.registers.gpr[..8] {
                    *register = random() << 8 ^ random();
                }
                let before = rest(processor);
                let what = format!("{name}: {bytes:02x?}");
                assert!(!decoded.ends && !decoded.jumps, "{what}");
                // Where it says so, it neither keeps nor reads the flags that it begins with.
                let (registers, flags) =
                    (processor.registers.gpr, [0, u32::MAX].map(Flags::from_word));
                let [first, second] = flags.map(|flags| {
                    (processor.registers.gpr, processor.registers.flags) = (registers, flags);
                    assert_eq!((decoded.op.run)(processor, &decoded.op), Ok(()), "{what}");
                    assert_eq!(rest(processor), before, "{what}");
                    assert_eq!(processor.registers.gpr[8..], [0; 8], "{what}");
                    (processor.registers.gpr, processor.registers.flags)
                });
                match decoded.flags {
                    FlagsUse::Replaces => assert_eq!(first, second, "{what}"),
                    FlagsUse::Leaves => {
                        assert_eq!((first.0, [first.1, second.1]), (second.0, flags), "{what}");
                    }
                    FlagsUse::Other => {}
                }
                uses[decoded.flags as usize] += 1;
                uses[3] += usize::from(decoded.quiet.is_some());
            }
            assert!(seen > 2000, "{name}: {seen}");
            assert!(uses.iter().all(|&uses| uses > 100), "{name}: {uses:?}");
        }
    }
}
