//! The instructions of the 603, 604, 750, 8xx (PEM chapter 8), 405 and 970: one table of encodings, operands and
//! classes, from which decoding, timing and the engine's dispatch all follow. [`super::instruction_set`] says which of
//! them each core has.

use super::registers::Register;

/// The registers that an instruction reads and writes, for the pipeline's dependence check.
pub mod uses {
    /// Writes the general register of bits 6-10.
    pub const W_T: u32 = 1;
    /// Reads the general register of bits 6-10.
    pub const R_T: u32 = 1 << 1;
    /// Reads that of bits 11-15.
    pub const R_A: u32 = 1 << 2;
    /// Reads that of bits 11-15 unless it is r0.
    pub const R_A0: u32 = 1 << 3;
    /// Writes that of bits 11-15.
    pub const W_A: u32 = 1 << 4;
    /// Reads that of bits 16-20.
    pub const R_B: u32 = 1 << 5;
    /// The same for the floating-point registers; C is bits 21-25.
    pub const W_FT: u32 = 1 << 6;
    pub const R_FT: u32 = 1 << 7;
    pub const R_FA: u32 = 1 << 8;
    pub const R_FB: u32 = 1 << 9;
    pub const R_FC: u32 = 1 << 10;
    /// Writes the condition field of bits 6-8.
    pub const W_CF: u32 = 1 << 11;
    /// Reads or writes the whole condition register.
    pub const R_CR: u32 = 1 << 12;
    pub const W_CR: u32 = 1 << 13;
    /// Reads or writes XER[CA].
    pub const R_CA: u32 = 1 << 14;
    pub const W_CA: u32 = 1 << 15;
    pub const R_LR: u32 = 1 << 16;
    pub const W_LR: u32 = 1 << 17;
    pub const R_CTR: u32 = 1 << 18;
    pub const W_CTR: u32 = 1 << 19;
    /// Loads or stores, for the count of data accesses: one, or (multiple) as many as it moves.
    pub const LOAD: u32 = 1 << 20;
    pub const STORE: u32 = 1 << 21;
    /// Ends a block: a jump, or a change that the next instruction must see.
    pub const END: u32 = 1 << 22;
    /// Floating point: needs MSR[FP].
    pub const FLOAT: u32 = 1 << 23;
}

/// The layout of the operands in the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// rT, rA, rB in the three register fields.
    X,
    /// As `X`, rA meaning (rA|0).
    X0,
    /// rT, rA and a signed immediate.
    D,
    /// As `D`, rA meaning (rA|0).
    D0,
    /// As `D` and `D0`; the lowest two bits of the immediate are a part of the opcode.
    Ds,
    Ds0,
    /// As `D0`, the immediate shifted left by 16.
    D0High,
    /// rT, rA and an unsigned immediate.
    U,
    /// As `U`, the immediate shifted left by 16.
    UHigh,
    /// Rotate: the immediate holds SH, MB and ME as 5-bit fields of the word.
    M,
    /// Floating point with FRC in bits 21-25.
    A,
    /// Unconditional branch: the immediate holds the sign-extended displacement.
    I,
    /// Conditional branch: BO, BI and the sign-extended displacement.
    B,
    /// The immediate holds the word.
    Word,
}

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The classes that the pipeline distinguishes; [`super::timing`] has their costs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Class { $($(#[$doc])* $name,)* }

        impl Class {
            /// Every class, in order of number.
            pub const ALL: &'static [Class] = &[$(Class::$name,)*];
        }
    };
}

classes! {
    Simple,
    Compare,
    MultiplyImmediate,
    Multiply,
    MultiplyHighUnsigned,
    Divide,
    /// Of double words.
    MultiplyDoubleword,
    DivideDoubleword,
    Load,
    LoadFloat,
    Store,
    LoadMultiple,
    StoreMultiple,
    LoadReserve,
    StoreConditional,
    Branch,
    ConditionLogical,
    MoveFromCr,
    MoveToCr,
    /// mfspr; of LR and CTR too.
    MoveFromSpr,
    MoveToSpr,
    /// To LR or CTR.
    MoveToBranchRegister,
    MoveFromMsr,
    MoveToMsr,
    MoveFromSegment,
    MoveToSegment,
    MoveFromTimeBase,
    Trap,
    SystemCall,
    ReturnFromInterrupt,
    InstructionSync,
    Sync,
    Eieio,
    TlbInvalidate,
    TlbSync,
    TlbLoad,
    /// slbmte, slbmfee, slbmfev, slbie and slbia
    SegmentLookaside,
    CacheTouch,
    CacheZero,
    /// dcbst and dcbf
    CacheFlush,
    CacheInvalidate,
    InstructionInvalidate,
    FloatMove,
    FloatAdd,
    FloatMultiplySingle,
    FloatMultiplyDouble,
    FloatDivideSingle,
    FloatDivideDouble,
    /// fsqrt and fsqrts
    FloatSquareRoot,
    FloatCompare,
    FloatEstimate,
    FloatStatus,
    Illegal,
}

/// How the extended opcode is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extended {
    /// The primary opcode alone.
    None,
    /// Bits 21-30.
    Ten(u32),
    /// Bits 22-30; bit 21 is OE.
    Nine(u32),
    /// Bits 26-30.
    Five(u32),
    /// `mfspr` of this register.
    From(u32),
    /// `mtspr` of this register.
    To(u32),
}

/// A row of the instruction table.
pub struct Description {
    pub mnemonic: &'static str,
    primary: u32,
    extended: Extended,
    pub form: Form,
    pub class: Class,
    /// Bits of [`uses`].
    pub uses: u32,
    /// Bit 31 is Rc.
    has_record: bool,
}

macro_rules! instructions {
    ($($name:ident $mnemonic:literal $primary:literal $extended:expr,
       $rc:literal $form:ident $class:ident $uses:expr;)*) => {
        /// An instruction's name; its Rc, OE, LK and AA variants share it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Opcode { $($name,)* Illegal }

        const DESCRIPTIONS: &[Description] = &[
            $(Description {
                mnemonic: $mnemonic, primary: $primary, extended: $extended, form: Form::$form,
                class: Class::$class, uses: $uses, has_record: $rc == '.',
            },)*
            Description {
                mnemonic: "illegal", primary: 0, extended: None, form: Form::Word,
                class: Class::Illegal, uses: uses::END, has_record: false,
            },
        ];

        const OPCODES: &[Opcode] = &[$(Opcode::$name,)* Opcode::Illegal];
    };
}

use Extended::{Five, From, Nine, None, Ten, To};
use uses::*;

// Extended opcodes: PEM appendix A. '.' marks the instructions with Rc.
instructions! {
    // Integer arithmetic.
    Addi    "addi"    14 None, ' ' D0     Simple W_T | R_A0;
    Addis   "addis"   15 None, ' ' D0High Simple W_T | R_A0;
    Addic   "addic"   12 None, ' ' D      Simple W_T | R_A | W_CA;
    AddicRecord "addic." 13 None, ' ' D   Simple W_T | R_A | W_CA;
    Subfic  "subfic"   8 None, ' ' D      Simple W_T | R_A | W_CA;
    Mulli   "mulli"    7 None, ' ' D      MultiplyImmediate W_T | R_A;
    Add     "add"     31 Nine(266), '.' X Simple W_T | R_A | R_B;
    Addc    "addc"    31 Nine(10),  '.' X Simple W_T | R_A | R_B | W_CA;
    Adde    "adde"    31 Nine(138), '.' X Simple W_T | R_A | R_B | R_CA | W_CA;
    Addme   "addme"   31 Nine(234), '.' X Simple W_T | R_A | R_CA | W_CA;
    Addze   "addze"   31 Nine(202), '.' X Simple W_T | R_A | R_CA | W_CA;
    Subf    "subf"    31 Nine(40),  '.' X Simple W_T | R_A | R_B;
    Subfc   "subfc"   31 Nine(8),   '.' X Simple W_T | R_A | R_B | W_CA;
    Subfe   "subfe"   31 Nine(136), '.' X Simple W_T | R_A | R_B | R_CA | W_CA;
    Subfme  "subfme"  31 Nine(232), '.' X Simple W_T | R_A | R_CA | W_CA;
    Subfze  "subfze"  31 Nine(200), '.' X Simple W_T | R_A | R_CA | W_CA;
    Neg     "neg"     31 Nine(104), '.' X Simple W_T | R_A;
    Mullw   "mullw"   31 Nine(235), '.' X Multiply W_T | R_A | R_B;
    Mulhw   "mulhw"   31 Nine(75),  '.' X Multiply W_T | R_A | R_B;
    Mulhwu  "mulhwu"  31 Nine(11),  '.' X MultiplyHighUnsigned W_T | R_A | R_B;
    Divw    "divw"    31 Nine(491), '.' X Divide W_T | R_A | R_B;
    Divwu   "divwu"   31 Nine(459), '.' X Divide W_T | R_A | R_B;

    // Compare.
    Cmpi    "cmpwi"   11 None, ' ' D Compare R_A | W_CF;
    Cmpli   "cmplwi"  10 None, ' ' U Compare R_A | W_CF;
    Cmp     "cmpw"    31 Ten(0),  ' ' X Compare R_A | R_B | W_CF;
    Cmpl    "cmplw"   31 Ten(32), ' ' X Compare R_A | R_B | W_CF;

    // Logical.
    AndiRecord  "andi."  28 None, ' ' U     Simple R_T | W_A;
    AndisRecord "andis." 29 None, ' ' UHigh Simple R_T | W_A;
    Ori     "ori"     24 None, ' ' U     Simple R_T | W_A;
    Oris    "oris"    25 None, ' ' UHigh Simple R_T | W_A;
    Xori    "xori"    26 None, ' ' U     Simple R_T | W_A;
    Xoris   "xoris"   27 None, ' ' UHigh Simple R_T | W_A;
    And     "and"     31 Ten(28),  '.' X Simple R_T | W_A | R_B;
    Or      "or"      31 Ten(444), '.' X Simple R_T | W_A | R_B;
    Xor     "xor"     31 Ten(316), '.' X Simple R_T | W_A | R_B;
    Nand    "nand"    31 Ten(476), '.' X Simple R_T | W_A | R_B;
    Nor     "nor"     31 Ten(124), '.' X Simple R_T | W_A | R_B;
    Eqv     "eqv"     31 Ten(284), '.' X Simple R_T | W_A | R_B;
    Andc    "andc"    31 Ten(60),  '.' X Simple R_T | W_A | R_B;
    Orc     "orc"     31 Ten(412), '.' X Simple R_T | W_A | R_B;
    Extsb   "extsb"   31 Ten(954), '.' X Simple R_T | W_A;
    Extsh   "extsh"   31 Ten(922), '.' X Simple R_T | W_A;
    Cntlzw  "cntlzw"  31 Ten(26),  '.' X Simple R_T | W_A;

    // Rotate and shift.
    Rlwimi  "rlwimi"  20 None, '.' M Simple R_T | R_A | W_A;
    Rlwinm  "rlwinm"  21 None, '.' M Simple R_T | W_A;
    Rlwnm   "rlwnm"   23 None, '.' M Simple R_T | W_A | R_B;
    Slw     "slw"     31 Ten(24),  '.' X Simple R_T | W_A | R_B;
    Srw     "srw"     31 Ten(536), '.' X Simple R_T | W_A | R_B;
    Sraw    "sraw"    31 Ten(792), '.' X Simple R_T | W_A | R_B | W_CA;
    Srawi   "srawi"   31 Ten(824), '.' X Simple R_T | W_A | W_CA;

    // Integer loads.
    Lbz     "lbz"     34 None, ' ' D0 Load W_T | R_A0 | LOAD;
    Lbzu    "lbzu"    35 None, ' ' D  Load W_T | R_A | W_A | LOAD;
    Lhz     "lhz"     40 None, ' ' D0 Load W_T | R_A0 | LOAD;
    Lhzu    "lhzu"    41 None, ' ' D  Load W_T | R_A | W_A | LOAD;
    Lha     "lha"     42 None, ' ' D0 Load W_T | R_A0 | LOAD;
    Lhau    "lhau"    43 None, ' ' D  Load W_T | R_A | W_A | LOAD;
    Lwz     "lwz"     32 None, ' ' D0 Load W_T | R_A0 | LOAD;
    Lwzu    "lwzu"    33 None, ' ' D  Load W_T | R_A | W_A | LOAD;
    Lbzx    "lbzx"    31 Ten(87),  ' ' X0 Load W_T | R_A0 | R_B | LOAD;
    Lbzux   "lbzux"   31 Ten(119), ' ' X  Load W_T | R_A | R_B | W_A | LOAD;
    Lhzx    "lhzx"    31 Ten(279), ' ' X0 Load W_T | R_A0 | R_B | LOAD;
    Lhzux   "lhzux"   31 Ten(311), ' ' X  Load W_T | R_A | R_B | W_A | LOAD;
    Lhax    "lhax"    31 Ten(343), ' ' X0 Load W_T | R_A0 | R_B | LOAD;
    Lhaux   "lhaux"   31 Ten(375), ' ' X  Load W_T | R_A | R_B | W_A | LOAD;
    Lwzx    "lwzx"    31 Ten(23),  ' ' X0 Load W_T | R_A0 | R_B | LOAD;
    Lwzux   "lwzux"   31 Ten(55),  ' ' X  Load W_T | R_A | R_B | W_A | LOAD;
    Lhbrx   "lhbrx"   31 Ten(790), ' ' X0 Load W_T | R_A0 | R_B | LOAD;
    Lwbrx   "lwbrx"   31 Ten(534), ' ' X0 Load W_T | R_A0 | R_B | LOAD;
    Lwarx   "lwarx"   31 Ten(20),  ' ' X0 LoadReserve W_T | R_A0 | R_B | LOAD;

    // Integer stores.
    Stb     "stb"     38 None, ' ' D0 Store R_T | R_A0 | STORE;
    Stbu    "stbu"    39 None, ' ' D  Store R_T | R_A | W_A | STORE;
    Sth     "sth"     44 None, ' ' D0 Store R_T | R_A0 | STORE;
    Sthu    "sthu"    45 None, ' ' D  Store R_T | R_A | W_A | STORE;
    Stw     "stw"     36 None, ' ' D0 Store R_T | R_A0 | STORE;
    Stwu    "stwu"    37 None, ' ' D  Store R_T | R_A | W_A | STORE;
    Stbx    "stbx"    31 Ten(215), ' ' X0 Store R_T | R_A0 | R_B | STORE;
    Stbux   "stbux"   31 Ten(247), ' ' X  Store R_T | R_A | R_B | W_A | STORE;
    Sthx    "sthx"    31 Ten(407), ' ' X0 Store R_T | R_A0 | R_B | STORE;
    Sthux   "sthux"   31 Ten(439), ' ' X  Store R_T | R_A | R_B | W_A | STORE;
    Stwx    "stwx"    31 Ten(151), ' ' X0 Store R_T | R_A0 | R_B | STORE;
    Stwux   "stwux"   31 Ten(183), ' ' X  Store R_T | R_A | R_B | W_A | STORE;
    Sthbrx  "sthbrx"  31 Ten(918), ' ' X0 Store R_T | R_A0 | R_B | STORE;
    Stwbrx  "stwbrx"  31 Ten(662), ' ' X0 Store R_T | R_A0 | R_B | STORE;
    Stwcx   "stwcx."  31 Ten(150), ' ' X0 StoreConditional R_T | R_A0 | R_B | W_CR | STORE;

    // Multiple and string.
    Lmw     "lmw"     46 None, ' ' D0 LoadMultiple W_T | R_A0 | END;
    Stmw    "stmw"    47 None, ' ' D0 StoreMultiple R_T | R_A0 | END;
    Lswi    "lswi"    31 Ten(597), ' ' X0 LoadMultiple W_T | R_A0 | END;
    Lswx    "lswx"    31 Ten(533), ' ' X0 LoadMultiple W_T | R_A0 | R_B | END;
    Stswi   "stswi"   31 Ten(725), ' ' X0 StoreMultiple R_T | R_A0 | END;
    Stswx   "stswx"   31 Ten(661), ' ' X0 StoreMultiple R_T | R_A0 | R_B | END;

    // Floating-point loads and stores.
    Lfs     "lfs"     48 None, ' ' D0 LoadFloat W_FT | R_A0 | LOAD | FLOAT;
    Lfsu    "lfsu"    49 None, ' ' D  LoadFloat W_FT | R_A | W_A | LOAD | FLOAT;
    Lfd     "lfd"     50 None, ' ' D0 LoadFloat W_FT | R_A0 | LOAD | FLOAT;
    Lfdu    "lfdu"    51 None, ' ' D  LoadFloat W_FT | R_A | W_A | LOAD | FLOAT;
    Lfsx    "lfsx"    31 Ten(535), ' ' X0 LoadFloat W_FT | R_A0 | R_B | LOAD | FLOAT;
    Lfsux   "lfsux"   31 Ten(567), ' ' X  LoadFloat W_FT | R_A | R_B | W_A | LOAD | FLOAT;
    Lfdx    "lfdx"    31 Ten(599), ' ' X0 LoadFloat W_FT | R_A0 | R_B | LOAD | FLOAT;
    Lfdux   "lfdux"   31 Ten(631), ' ' X  LoadFloat W_FT | R_A | R_B | W_A | LOAD | FLOAT;
    Stfs    "stfs"    52 None, ' ' D0 Store R_FT | R_A0 | STORE | FLOAT;
    Stfsu   "stfsu"   53 None, ' ' D  Store R_FT | R_A | W_A | STORE | FLOAT;
    Stfd    "stfd"    54 None, ' ' D0 Store R_FT | R_A0 | STORE | FLOAT;
    Stfdu   "stfdu"   55 None, ' ' D  Store R_FT | R_A | W_A | STORE | FLOAT;
    Stfsx   "stfsx"   31 Ten(663), ' ' X0 Store R_FT | R_A0 | R_B | STORE | FLOAT;
    Stfsux  "stfsux"  31 Ten(695), ' ' X  Store R_FT | R_A | R_B | W_A | STORE | FLOAT;
    Stfdx   "stfdx"   31 Ten(727), ' ' X0 Store R_FT | R_A0 | R_B | STORE | FLOAT;
    Stfdux  "stfdux"  31 Ten(759), ' ' X  Store R_FT | R_A | R_B | W_A | STORE | FLOAT;
    Stfiwx  "stfiwx"  31 Ten(983), ' ' X0 Store R_FT | R_A0 | R_B | STORE | FLOAT;

    // Branches.
    B       "b"       18 None, ' ' I Branch END;
    Bc      "bc"      16 None, ' ' B Branch END;
    Bclr    "bclr"    19 Ten(16),  ' ' B Branch R_LR | END;
    Bcctr   "bcctr"   19 Ten(528), ' ' B Branch R_CTR | END;

    // Condition register.
    Crand   "crand"   19 Ten(257), ' ' X ConditionLogical R_CR | W_CR;
    Cror    "cror"    19 Ten(449), ' ' X ConditionLogical R_CR | W_CR;
    Crxor   "crxor"   19 Ten(193), ' ' X ConditionLogical R_CR | W_CR;
    Crnand  "crnand"  19 Ten(225), ' ' X ConditionLogical R_CR | W_CR;
    Crnor   "crnor"   19 Ten(33),  ' ' X ConditionLogical R_CR | W_CR;
    Creqv   "creqv"   19 Ten(289), ' ' X ConditionLogical R_CR | W_CR;
    Crandc  "crandc"  19 Ten(129), ' ' X ConditionLogical R_CR | W_CR;
    Crorc   "crorc"   19 Ten(417), ' ' X ConditionLogical R_CR | W_CR;
    Mcrf    "mcrf"    19 Ten(0),   ' ' X ConditionLogical R_CR | W_CF;
    Mtcrf   "mtcrf"   31 Ten(144), ' ' Word MoveToCr R_T | W_CR;
    Mcrxr   "mcrxr"   31 Ten(512), ' ' X MoveToCr R_CA | W_CA | W_CF;
    Mfcr    "mfcr"    31 Ten(19),  ' ' X MoveFromCr W_T | R_CR;

    // Traps, system call, return.
    Twi     "twi"      3 None, ' ' D Trap R_A;
    Tw      "tw"      31 Ten(4), ' ' X Trap R_A | R_B;
    Sc      "sc"      17 None, ' ' Word SystemCall END;
    Rfi     "rfi"     19 Ten(50), ' ' Word ReturnFromInterrupt END;

    // Special registers.
    Mflr    "mflr"    31 From(8), ' ' X MoveFromSpr W_T | R_LR;
    Mfctr   "mfctr"   31 From(9), ' ' X MoveFromSpr W_T | R_CTR;
    Mfxer   "mfxer"   31 From(1), ' ' X MoveFromSpr W_T | R_CA;
    Mtlr    "mtlr"    31 To(8), ' ' X MoveToBranchRegister R_T | W_LR;
    Mtctr   "mtctr"   31 To(9), ' ' X MoveToBranchRegister R_T | W_CTR;
    Mtxer   "mtxer"   31 To(1), ' ' X MoveToSpr R_T | W_CA;
    Mfspr   "mfspr"   31 Ten(339), ' ' Word MoveFromSpr W_T | END;
    Mtspr   "mtspr"   31 Ten(467), ' ' Word MoveToSpr R_T | END;
    Mftb    "mftb"    31 Ten(371), ' ' Word MoveFromTimeBase W_T | END;
    Mfmsr   "mfmsr"   31 Ten(83),  ' ' X MoveFromMsr W_T;
    Mtmsr   "mtmsr"   31 Ten(146), ' ' X MoveToMsr R_T | END;
    Mfsr    "mfsr"    31 Ten(595), ' ' Word MoveFromSegment W_T;
    Mfsrin  "mfsrin"  31 Ten(659), ' ' X MoveFromSegment W_T | R_B;
    Mtsr    "mtsr"    31 Ten(210), ' ' Word MoveToSegment R_T | END;
    Mtsrin  "mtsrin"  31 Ten(242), ' ' X MoveToSegment R_T | R_B | END;

    // Synchronisation, caches, TLBs.
    Sync    "sync"    31 Ten(598), ' ' Word Sync END;
    Eieio   "eieio"   31 Ten(854), ' ' Word Eieio 0;
    Isync   "isync"   19 Ten(150), ' ' Word InstructionSync END;
    Dcbf    "dcbf"    31 Ten(86),  ' ' X0 CacheFlush R_A0 | R_B;
    Dcbst   "dcbst"   31 Ten(54),  ' ' X0 CacheFlush R_A0 | R_B;
    Dcbt    "dcbt"    31 Ten(278), ' ' X0 CacheTouch R_A0 | R_B;
    Dcbtst  "dcbtst"  31 Ten(246), ' ' X0 CacheTouch R_A0 | R_B;
    Dcbz    "dcbz"    31 Ten(1014), ' ' X0 CacheZero R_A0 | R_B;
    Dcbi    "dcbi"    31 Ten(470), ' ' X0 CacheInvalidate R_A0 | R_B;
    Icbi    "icbi"    31 Ten(982), ' ' X0 InstructionInvalidate R_A0 | R_B | END;
    Tlbie   "tlbie"   31 Ten(306), ' ' X TlbInvalidate R_B | END;
    Tlbia   "tlbia"   31 Ten(370), ' ' Word TlbInvalidate END;
    Tlbsync "tlbsync" 31 Ten(566), ' ' Word TlbSync END;
    // 405 alone.
    Rfci    "rfci"    19 Ten(51),  ' ' Word ReturnFromInterrupt END;
    Wrtee   "wrtee"   31 Ten(131), ' ' X MoveToMsr R_T | END;
    Wrteei  "wrteei"  31 Ten(163), ' ' Word MoveToMsr END;
    Mfdcr   "mfdcr"   31 Ten(323), ' ' Word MoveFromSpr W_T | END;
    Mtdcr   "mtdcr"   31 Ten(451), ' ' Word MoveToSpr R_T | END;
    Icbt    "icbt"    31 Ten(262), ' ' X0 CacheTouch R_A0 | R_B;
    Dcba    "dcba"    31 Ten(758), ' ' X0 CacheZero R_A0 | R_B;
    Iccci   "iccci"   31 Ten(966), ' ' X0 InstructionInvalidate R_A0 | R_B | END;
    Dccci   "dccci"   31 Ten(454), ' ' X0 CacheInvalidate R_A0 | R_B | END;
    Icread  "icread"  31 Ten(998), ' ' X0 CacheTouch R_A0 | R_B | END;
    Dcread  "dcread"  31 Ten(486), ' ' X0 CacheTouch W_T | R_A0 | R_B | END;
    Tlbre   "tlbre"   31 Ten(946), ' ' X TlbLoad W_T | R_A | END;
    Tlbsx   "tlbsx"   31 Ten(914), '.' X0 TlbLoad W_T | R_A0 | R_B | END;
    // Has the encoding of `tlbld`, which the table finds.
    Tlbwe   "tlbwe"   31 Ten(978), ' ' X TlbLoad R_T | R_A | END;
    // Multiply-accumulate of half-words, and multiplication of half-words: the extended opcode says which of them.
    Mac     "mac"      4 None, '.' X Multiply W_T | R_T | R_A | R_B;
    Mulhalf "mulhalf"  4 To(0), '.' X Multiply W_T | R_A | R_B;
    Dlmzb   "dlmzb"   31 Ten(78),  '.' X Simple R_T | W_A | R_B;

    // 970 alone. Arithmetic, shifts and rotates of double words; those with primary opcodes 30, 58 and 62 are found by
    // `super::doubleword`.
    Mulld   "mulld"   31 Nine(233), '.' X MultiplyDoubleword W_T | R_A | R_B;
    Mulhd   "mulhd"   31 Nine(73),  '.' X MultiplyDoubleword W_T | R_A | R_B;
    Mulhdu  "mulhdu"  31 Nine(9),   '.' X MultiplyDoubleword W_T | R_A | R_B;
    Divd    "divd"    31 Nine(489), '.' X DivideDoubleword W_T | R_A | R_B;
    Divdu   "divdu"   31 Nine(457), '.' X DivideDoubleword W_T | R_A | R_B;
    Extsw   "extsw"   31 Ten(986),  '.' X Simple R_T | W_A;
    Cntlzd  "cntlzd"  31 Ten(58),   '.' X Simple R_T | W_A;
    Sld     "sld"     31 Ten(27),   '.' X Simple R_T | W_A | R_B;
    Srd     "srd"     31 Ten(539),  '.' X Simple R_T | W_A | R_B;
    Srad    "srad"    31 Ten(794),  '.' X Simple R_T | W_A | R_B | W_CA;
    Sradi   "sradi"   31 Ten(826),  '.' X Simple R_T | W_A | W_CA;
    SradiHigh "sradi" 31 Ten(827),  '.' X Simple R_T | W_A | W_CA;
    Rldicl  "rldicl"  30 To(0), '.' Word Simple R_T | W_A;
    Rldicr  "rldicr"  30 To(0), '.' Word Simple R_T | W_A;
    Rldic   "rldic"   30 To(0), '.' Word Simple R_T | W_A;
    Rldimi  "rldimi"  30 To(0), '.' Word Simple R_T | R_A | W_A;
    Rldcl   "rldcl"   30 To(0), '.' Word Simple R_T | R_B | W_A;
    Rldcr   "rldcr"   30 To(0), '.' Word Simple R_T | R_B | W_A;
    Tdi     "tdi"      2 None, ' ' D Trap R_A;
    Td      "td"      31 Ten(68), ' ' X Trap R_A | R_B;
    // Their loads and stores.
    Ld      "ld"      58 To(0), ' ' Ds0 Load W_T | R_A0 | LOAD;
    Ldu     "ldu"     58 To(0), ' ' Ds  Load W_T | R_A | W_A | LOAD;
    Lwa     "lwa"     58 To(0), ' ' Ds0 Load W_T | R_A0 | LOAD;
    Std     "std"     62 To(0), ' ' Ds0 Store R_T | R_A0 | STORE;
    Stdu    "stdu"    62 To(0), ' ' Ds  Store R_T | R_A | W_A | STORE;
    Ldx     "ldx"     31 Ten(21),  ' ' X0 Load W_T | R_A0 | R_B | LOAD;
    Ldux    "ldux"    31 Ten(53),  ' ' X  Load W_T | R_A | R_B | W_A | LOAD;
    Lwax    "lwax"    31 Ten(341), ' ' X0 Load W_T | R_A0 | R_B | LOAD;
    Lwaux   "lwaux"   31 Ten(373), ' ' X  Load W_T | R_A | R_B | W_A | LOAD;
    Ldarx   "ldarx"   31 Ten(84),  ' ' X0 LoadReserve W_T | R_A0 | R_B | LOAD;
    Stdx    "stdx"    31 Ten(149), ' ' X0 Store R_T | R_A0 | R_B | STORE;
    Stdux   "stdux"   31 Ten(181), ' ' X  Store R_T | R_A | R_B | W_A | STORE;
    Stdcx   "stdcx."  31 Ten(214), ' ' X0 StoreConditional R_T | R_A0 | R_B | W_CR | STORE;
    // Of the supervisor.
    Rfid    "rfid"    19 Ten(18),  ' ' Word ReturnFromInterrupt END;
    Mtmsrd  "mtmsrd"  31 Ten(178), ' ' Word MoveToMsr R_T | END;
    Tlbiel  "tlbiel"  31 Ten(274), ' ' X TlbInvalidate R_B | END;
    Slbmte  "slbmte"  31 Ten(402), ' ' X SegmentLookaside R_T | R_B | END;
    Slbie   "slbie"   31 Ten(434), ' ' X SegmentLookaside R_B | END;
    Slbia   "slbia"   31 Ten(498), ' ' X SegmentLookaside END;
    Slbmfev "slbmfev" 31 Ten(851), ' ' X SegmentLookaside W_T | R_B | END;
    Slbmfee "slbmfee" 31 Ten(915), ' ' X SegmentLookaside W_T | R_B | END;
    // Floating point.
    Fcfid   "fcfid"   63 Ten(846), '.' A FloatAdd W_FT | R_FB | FLOAT;
    Fctid   "fctid"   63 Ten(814), '.' A FloatAdd W_FT | R_FB | FLOAT;
    Fctidz  "fctidz"  63 Ten(815), '.' A FloatAdd W_FT | R_FB | FLOAT;
    Fsqrt   "fsqrt"   63 Five(22), '.' A FloatSquareRoot W_FT | R_FB | FLOAT;
    Fsqrts  "fsqrts"  59 Five(22), '.' A FloatSquareRoot W_FT | R_FB | FLOAT;

    Tlbld   "tlbld"   31 Ten(978), ' ' X TlbLoad R_B | END;
    Tlbli   "tlbli"   31 Ten(1010), ' ' X TlbLoad R_B | END;
    Eciwx   "eciwx"   31 Ten(310), ' ' X0 Load W_T | R_A0 | R_B | END;
    Ecowx   "ecowx"   31 Ten(438), ' ' X0 Store R_T | R_A0 | R_B | END;

    // Floating-point arithmetic.
    Fadd    "fadd"    63 Five(21), '.' A FloatAdd W_FT | R_FA | R_FB | FLOAT;
    Fsub    "fsub"    63 Five(20), '.' A FloatAdd W_FT | R_FA | R_FB | FLOAT;
    Fmul    "fmul"    63 Five(25), '.' A FloatMultiplyDouble W_FT | R_FA | R_FC | FLOAT;
    Fdiv    "fdiv"    63 Five(18), '.' A FloatDivideDouble W_FT | R_FA | R_FB | FLOAT;
    Fmadd   "fmadd"   63 Five(29), '.' A FloatMultiplyDouble W_FT | R_FA | R_FB | R_FC | FLOAT;
    Fmsub   "fmsub"   63 Five(28), '.' A FloatMultiplyDouble W_FT | R_FA | R_FB | R_FC | FLOAT;
    Fnmadd  "fnmadd"  63 Five(31), '.' A FloatMultiplyDouble W_FT | R_FA | R_FB | R_FC | FLOAT;
    Fnmsub  "fnmsub"  63 Five(30), '.' A FloatMultiplyDouble W_FT | R_FA | R_FB | R_FC | FLOAT;
    Fsel    "fsel"    63 Five(23), '.' A FloatMove W_FT | R_FA | R_FB | R_FC | FLOAT;
    Frsqrte "frsqrte" 63 Five(26), '.' A FloatEstimate W_FT | R_FB | FLOAT;
    Fadds   "fadds"   59 Five(21), '.' A FloatAdd W_FT | R_FA | R_FB | FLOAT;
    Fsubs   "fsubs"   59 Five(20), '.' A FloatAdd W_FT | R_FA | R_FB | FLOAT;
    Fmuls   "fmuls"   59 Five(25), '.' A FloatMultiplySingle W_FT | R_FA | R_FC | FLOAT;
    Fdivs   "fdivs"   59 Five(18), '.' A FloatDivideSingle W_FT | R_FA | R_FB | FLOAT;
    Fmadds  "fmadds"  59 Five(29), '.' A FloatMultiplySingle W_FT | R_FA | R_FB | R_FC | FLOAT;
    Fmsubs  "fmsubs"  59 Five(28), '.' A FloatMultiplySingle W_FT | R_FA | R_FB | R_FC | FLOAT;
    Fnmadds "fnmadds" 59 Five(31), '.' A FloatMultiplySingle W_FT | R_FA | R_FB | R_FC | FLOAT;
    Fnmsubs "fnmsubs" 59 Five(30), '.' A FloatMultiplySingle W_FT | R_FA | R_FB | R_FC | FLOAT;
    Fres    "fres"    59 Five(24), '.' A FloatEstimate W_FT | R_FB | FLOAT;

    // Floating-point moves, compares, conversions and status.
    Fmr     "fmr"     63 Ten(72),  '.' A FloatMove W_FT | R_FB | FLOAT;
    Fneg    "fneg"    63 Ten(40),  '.' A FloatMove W_FT | R_FB | FLOAT;
    Fabs    "fabs"    63 Ten(264), '.' A FloatMove W_FT | R_FB | FLOAT;
    Fnabs   "fnabs"   63 Ten(136), '.' A FloatMove W_FT | R_FB | FLOAT;
    Frsp    "frsp"    63 Ten(12),  '.' A FloatAdd W_FT | R_FB | FLOAT;
    Fctiw   "fctiw"   63 Ten(14),  '.' A FloatAdd W_FT | R_FB | FLOAT;
    Fctiwz  "fctiwz"  63 Ten(15),  '.' A FloatAdd W_FT | R_FB | FLOAT;
    Fcmpu   "fcmpu"   63 Ten(0),   ' ' A FloatCompare W_CF | R_FA | R_FB | FLOAT;
    Fcmpo   "fcmpo"   63 Ten(32),  ' ' A FloatCompare W_CF | R_FA | R_FB | FLOAT;
    Mffs    "mffs"    63 Ten(583), '.' A FloatStatus W_FT | FLOAT;
    Mtfsf   "mtfsf"   63 Ten(711), '.' Word FloatStatus R_FB | FLOAT;
    Mtfsfi  "mtfsfi"  63 Ten(134), '.' Word FloatStatus FLOAT;
    Mtfsb0  "mtfsb0"  63 Ten(70),  '.' Word FloatStatus FLOAT;
    Mtfsb1  "mtfsb1"  63 Ten(38),  '.' Word FloatStatus FLOAT;
    Mcrfs   "mcrfs"   63 Ten(64),  ' ' A FloatStatus W_CF | FLOAT;
}

impl Opcode {
    pub fn description(self) -> &'static Description {
        &DESCRIPTIONS[self as usize]
    }

    pub fn class(self) -> Class {
        self.description().class
    }

    pub fn uses(self) -> u32 {
        self.description().uses
    }
}

/// One opcode for each value of the extended-opcode field.
type ExtendedTable = [Opcode; 1024];

const fn extended_table(primary: u32) -> ExtendedTable {
    let mut table = [Opcode::Illegal; 1024];
    let mut n = 0;
    while n < OPCODES.len() {
        let row = &DESCRIPTIONS[n];
        if row.primary == primary {
            match row.extended {
                Ten(extended) => table[extended as usize] = OPCODES[n],
                Nine(extended) => {
                    table[extended as usize] = OPCODES[n];
                    table[extended as usize | 512] = OPCODES[n];
                }
                Five(extended) => {
                    let mut c = 0;
                    while c < 32 {
                        table[(c << 5 | extended) as usize] = OPCODES[n];
                        c += 1;
                    }
                }
                _ => {}
            }
        }
        n += 1;
    }
    table
}

static EXTENDED_19: ExtendedTable = extended_table(19);
static EXTENDED_31: ExtendedTable = extended_table(31);
static EXTENDED_59: ExtendedTable = extended_table(59);
static EXTENDED_63: ExtendedTable = extended_table(63);

static PRIMARY: [Opcode; 64] = {
    let mut table = [Opcode::Illegal; 64];
    let mut n = 0;
    while n < OPCODES.len() - 1 {
        if matches!(DESCRIPTIONS[n].extended, None) {
            table[DESCRIPTIONS[n].primary as usize] = OPCODES[n];
        }
        n += 1;
    }
    table
};

/// Decoded operands; the [`Form`] says which of them an instruction has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Operands {
    /// Bits 6-10: rT, rS, frT, BO, TO, crfD, crbD.
    pub t: Register,
    /// Bits 11-15: rA, frA, BI, crfS, crbA.
    pub a: Register,
    /// Bits 16-20: rB, frB, SH, NB, crbB.
    pub b: Register,
    /// Bits 21-25: frC. Branches: bits 30 (AA) and 31 (LK).
    pub c: Register,
    /// Immediate, displacement, mask of a rotate, or the whole word.
    pub imm: u32,
}

impl Operands {
    /// Sets the link register.
    pub fn link(&self) -> bool {
        self.c.number() & 1 != 0
    }

    /// The branch target is absolute.
    pub fn absolute(&self) -> bool {
        self.c.number() & 2 != 0
    }

    /// The condition field of bits 6-8.
    pub fn crf_d(&self) -> u8 {
        self.t.number() >> 2
    }

    /// The condition field of bits 11-13.
    pub fn crf_s(&self) -> u8 {
        self.a.number() >> 2
    }

    /// The SPR number, its halves in order (PEM `mfspr`).
    pub fn spr(&self) -> u32 {
        self.imm >> 16 & 31 | self.imm >> 6 & 0x3e0
    }
}

/// A decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub opcode: Opcode,
    /// Rc: sets CR0, or CR1 for floating point.
    pub record: bool,
    /// OE: sets XER[OV] and XER[SO].
    pub overflow: bool,
    pub operands: Operands,
}

/// Ones from bit `begin` to bit `end` (PEM 4.2.1.4), wrapping when `begin` > `end`.
pub const fn mask(begin: u32, end: u32) -> u32 {
    let from = u32::MAX >> (begin & 31);
    let to = u32::MAX << (31 - (end & 31));
    if begin <= end { from & to } else { from | to }
}

/// The instruction that `word` encodes. Reserved fields are ignored, as on hardware.
pub fn decode(word: u32) -> Instruction {
    let extended = (word >> 1 & 0x3ff) as usize;
    let mut opcode = match word >> 26 {
        19 => EXTENDED_19[extended],
        31 => EXTENDED_31[extended],
        59 => EXTENDED_59[extended],
        63 => EXTENDED_63[extended],
        4 => super::multiply::opcode(word),
        30 | 58 | 62 => super::doubleword::opcode(word),
        primary => PRIMARY[primary as usize],
    };
    let spr = word >> 16 & 31 | word >> 6 & 0x3e0;
    opcode = match (opcode, spr) {
        (Opcode::Mfspr, 1) => Opcode::Mfxer,
        (Opcode::Mfspr, 8) => Opcode::Mflr,
        (Opcode::Mfspr, 9) => Opcode::Mfctr,
        (Opcode::Mtspr, 1) => Opcode::Mtxer,
        (Opcode::Mtspr, 8) => Opcode::Mtlr,
        (Opcode::Mtspr, 9) => Opcode::Mtctr,
        _ => opcode,
    };
    let description = opcode.description();
    Instruction {
        opcode,
        // `andi.`, `andis.`, `addic.` and `stwcx.` always do.
        record: description.has_record && word & 1 != 0 || description.mnemonic.ends_with('.'),
        overflow: (matches!(description.extended, Nine(_)) || opcode == Opcode::Mac)
            && word & 0x400 != 0,
        operands: operands(word, description.form),
    }
}

fn operands(word: u32, form: Form) -> Operands {
    let (t, a, b, c) = (word >> 21, word >> 16, word >> 11, word >> 6);
    let signed = word as u16 as i16 as u32;
    let base = Operands {
        t: Register::new(t),
        a: Register::new(a),
        b: Register::new(b),
        c: Register::new(c),
        imm: word,
    };
    let with = |imm| Operands { imm, ..base };
    let or_zero = |imm| Operands {
        a: Register::or_zero(a),
        ..with(imm)
    };
    let branch = |imm| Operands {
        c: Register::new(word & 3),
        ..with(imm)
    };
    match form {
        Form::X | Form::A | Form::Word => base,
        Form::X0 => or_zero(word),
        Form::D => with(signed),
        Form::D0 => or_zero(signed),
        Form::Ds => with(signed & !3),
        Form::Ds0 => or_zero(signed & !3),
        Form::D0High => or_zero(word << 16),
        Form::U => with(word & 0xffff),
        Form::UHigh => with(word << 16),
        Form::M => with(mask(c & 31, word >> 1 & 31)),
        Form::I => branch(((word & 0x03ff_fffc) << 6).cast_signed().wrapping_shr(6) as u32),
        Form::B => branch((word & 0xfffc) as u16 as i16 as u32),
    }
}
