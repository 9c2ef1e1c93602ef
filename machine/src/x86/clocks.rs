//! What each instruction of a program costs when all its accesses hit.
//!
//! i486: clocks, as two emulators tabulate them in agreement (86Box `codegen_timing_486.c`, MAME `i386/cycles.h`),
//! where a line says nothing else. P6: micro-operations, of which three are retired in a cycle; all of them are
//! recalled. Where a figure of the P6 is long, the instruction keeps its unit that long: three slots for each cycle.

use super::config::Kind;

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident $i486:literal $p6:literal,)*) => {
        /// The instructions that cost the same.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Class { $($(#[$doc])* $name,)* }

        impl Class {
            /// Issue slots: clocks of an i486, micro-operations of a P6.
            #[must_use]
            pub const fn slots(self, kind: Kind) -> u16 {
                match (kind, self) {
                    $((Kind::I486, Class::$name) => $i486,)*
                    $((Kind::P6, Class::$name) => $p6,)*
                }
            }
        }
    };
}

classes! {
    /// ALU r,r and r,imm
    Alu 1 1,
    /// ALU r,m
    AluLoad 2 2,
    /// ALU m,r and m,imm
    AluStore 3 4,
    /// CMP and TEST with memory
    Compare 2 2,
    Move 1 1,
    Load 1 1,
    Store 1 2,
    /// MOVZX, MOVSX
    Extend 3 1,
    Lea 1 1,
    /// LEA with an index (i486: recalled)
    LeaIndex 2 1,
    Push 1 3,
    PushMemory 4 4,
    Pop 1 2,
    /// POP m (i486: recalled)
    PopMemory 6 5,
    PushAll 11 18,
    PopAll 9 16,
    /// PUSHF in protected mode (i486: recalled)
    PushFlags 3 9,
    /// POPF in protected mode (i486: recalled)
    PopFlags 6 27,
    Exchange 3 3,
    /// XCHG r,m, which is locked
    ExchangeMemory 5 6,
    ShiftRegister 3 1,
    ShiftMemory 4 4,
    /// By an immediate number (i486: recalled)
    ShiftImmediate 2 1,
    /// RCL and RCR by CL or an immediate (i486: 8 to 9)
    RotateCarry 8 9,
    ShiftDouble 2 2,
    /// By CL (i486: recalled)
    ShiftDoubleCount 3 3,
    /// Without the significant bits, which add one each: 13 to 42, recalled to be 10 and at least 3
    Multiply 10 3,
    Divide8 16 51,
    Divide16 24 75,
    Divide32 40 111,
    DivideSigned8 19 51,
    DivideSigned16 27 75,
    DivideSigned32 43 111,
    /// CBW, CWDE
    ConvertByte 3 1,
    /// CWD, CDQ
    ConvertWord 3 1,
    ByteSwap 1 2,
    Set 3 1,
    SetMemory 4 3,
    /// Without the bits that it looks at, which add one each
    BitScan 6 2,
    BitTest 3 1,
    BitChange 6 1,
    /// BT m,r (i486: recalled 8), BTS m,r
    BitMemory 12 6,
    CompareExchange 6 3,
    CompareExchangeMemory 7 6,
    CompareExchangeWide 10 15,
    ExchangeAdd 4 4,
    /// Not taken
    JumpIf 1 1,
    Jump 3 1,
    JumpRegister 5 2,
    Call 3 4,
    CallRegister 5 5,
    Return 5 4,
    /// Not taken: LOOP 6, LOOPE and LOOPNE 9 are taken as those of the taken one
    Loop 4 11,
    LoopIf 7 11,
    /// JCXZ, not taken (i486: 8 taken, 5 not)
    JumpIfZero 5 2,
    Leave 5 3,
    Enter 14 12,
    MoveString 7 5,
    StoreString 5 3,
    LoadString 5 3,
    CompareString 8 5,
    ScanString 6 4,
    /// The instruction with a repeat prefix, without its elements (recalled)
    Repeat 7 6,
    /// REP MOVS (recalled: 12 and 3 each)
    RepeatMove 12 12,
    /// CLI, STI
    InterruptFlag 5 12,
    /// CLD, STD, CLC, STC, CMC
    Flag 2 1,
    Nop 1 1,
    Halt 4 30,
    /// IN and OUT, without the time of the bus (i486, protected mode, ring 0: recalled)
    Port 8 30,
    LoadFlags 3 1,
    /// DAA, DAS, AAA, AAS
    Decimal 2 3,
    /// AAM (i486: recalled)
    DecimalMultiply 15 45,
    /// AAD (i486: recalled)
    DecimalDivide 14 9,
    /// XLAT
    Translate 4 2,
    /// BOUND within bounds (recalled)
    Bound 7 15,
    /// PUSH and MOV from a segment register
    FromSegment 3 2,
    /// LAR, LSL, VERR, VERW (i486: recalled)
    CheckSegment 11 30,
    /// SGDT, SIDT, SLDT, STR, SMSW (i486: recalled)
    StoreTable 10 15,
    /// CLTS
    ClearTask 7 30,
    /// ARPL (recalled)
    Adjust 9 30,
    /// CPUID (P6: recalled)
    Identify 14 150,
    /// RDTSC (P6: recalled)
    Time 11 99,
    /// RDMSR, WRMSR (P6: recalled)
    ModelRegister 30 150,
    MoveIf 1 2,
    /// FWAIT (i486: 1 to 3)
    Wait 1 2,
    /// What the handler charges by keys of the machine file, or the floating-point unit
    System 0 0,
    /// UD2 and whatever else raises an exception
    Illegal 1 1,
}

/// i486: what a taken conditional jump takes more than one that is not taken (3 and 1).
pub const TAKEN: u64 = 2;

/// i486: clocks for each element of a repeated string instruction: MOVS 3, STOS 4 (recalled); the others without their
/// first clocks: CMPS 7, SCAS 5, LODS 4, INS and OUTS 8 (recalled).
pub mod element {
    use super::Kind;

    macro_rules! elements {
        ($($name:ident $i486:literal $p6:literal,)*) => {
            $(
                #[must_use]
                pub fn $name(kind: Kind) -> u64 {
                    match kind {
                        Kind::I486 => $i486,
                        Kind::P6 => $p6,
                    }
                }
            )*
        };
    }

    elements! {
        moves 3 4,
        stores 4 3,
        loads 4 3,
        compares 7 6,
        scans 5 4,
        ports 8 30,
    }
}
