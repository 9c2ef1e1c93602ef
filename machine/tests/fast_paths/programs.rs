//! Bare-metal programs that between them use every shortcut of the engine, and every reason to drop one.
//! Each ends with status 0; r29 holds a checksum of what it computed.

/// What not every core has.
pub enum Needs {
    Nothing,
    Decrementer,
    /// HID0, or a floating-point unit.
    Hid0OrFloat,
    /// The hash table in hardware, and HID0.
    HashWalk,
}

/// A program, and what it needs.
pub struct Guest {
    pub name: &'static str,
    pub source: &'static str,
    pub needs: Needs,
}

pub const GUESTS: &[Guest] = &[
    Guest {
        name: "integer loop",
        source: INTEGER,
        needs: Needs::Nothing,
    },
    Guest {
        name: "random accesses to 256 pages",
        source: PAGES,
        needs: Needs::HashWalk,
    },
    Guest {
        name: "a page that may not be written",
        source: FORBIDDEN,
        needs: Needs::HashWalk,
    },
    Guest {
        name: "conflicting lines and cache instructions",
        source: LINES,
        needs: Needs::Hid0OrFloat,
    },
    Guest {
        name: "unaligned, multiple and string accesses",
        source: UNALIGNED,
        needs: Needs::Nothing,
    },
    Guest {
        name: "interrupts, system calls and user mode",
        source: MODES,
        needs: Needs::Decrementer,
    },
    Guest {
        name: "code beyond the cache, patched while it runs",
        source: CODE,
        needs: Needs::Nothing,
    },
    Guest {
        name: "floating point",
        source: FLOAT,
        needs: Needs::Hid0OrFloat,
    },
    Guest {
        name: "dependent chains",
        source: CHAINS,
        needs: Needs::Decrementer,
    },
];

/// Records, carries, multiplies, divides, branches of every kind.
const INTEGER: &str = "
_start:
  caches_on
  load 3, 12345
  load 4, 20000
  mtctr 4
  li 29, 0
1: mulli 3, 3, 1103
  addi 3, 3, 12345
  rlwinm. 5, 3, 7, 0, 15
  beq 2f
  addc 29, 29, 5
  addze 29, 29
2: andi. 6, 3, 1
  bne 3f
  xor 29, 29, 3
3: cmplwi 1, 5, 0x4000
  cror 2, 6, 2
  bgt 1, 4f
  divwu 7, 29, 3
  add 29, 29, 7
4: bdnz 1b
  power_off 0
";

/// 256 pages by the hash table, more than the TLB holds; loads, first and later stores, tlbie, mtsr.
const PAGES: &str = "
_start:
  caches_on
  li 5, 0
  load 8, 0x80009180
  load 9, 0x00300012
1: xori 6, 5, 0x123
  slwi 6, 6, 6
  addis 6, 6, 0x20
  stw 8, 0(6)
  stw 9, 4(6)
  addi 9, 9, 0x1000
  addi 5, 5, 1
  cmpwi 5, 256
  blt 1b
  paging
  load 3, 98765
  load 10, 0x40000000
  load 4, 15000
  mtctr 4
  li 29, 0
2: mulli 3, 3, 1103
  addi 3, 3, 12345
  rlwinm 5, 3, 17, 12, 29
  lwzx 6, 10, 5
  add 29, 29, 6
  andi. 7, 3, 0x300
  bne 3f
  stwx 29, 10, 5
  lbzx 6, 10, 5
3: andi. 7, 3, 0x7f00
  bne 4f
  add 7, 10, 5
  tlbie 7
  tlbsync
4: rlwinm. 7, 3, 0, 4, 11
  bne 5f
  mfsr 7, 4
  mtsr 4, 7
  isync
5: bdnz 2b
  power_off 0
";

/// Three pages of one TLB set, the third of which is read-only: a store there enters it, in place of the page used
/// longest ago, before it is refused.
const FORBIDDEN: &str = "
_start:
  caches_on
  vector 0x0300, skip
  poke 0x002058c0, 0x80009180
  poke 0x002058c4, 0x00301192
  poke 0x002068c0, 0x80009180
  poke 0x002068c4, 0x00302193
  paging
  load 10, 0x40000000
  load 11, 0x40040000
  load 12, 0x40080000
  li 29, 0
  li 4, 50
  mtctr 4
1: lwz 5, 0(10)
  lwz 6, 0(11)
  stw 5, 0(12)
  lwz 5, 4(10)
  stw 6, 4(11)
  add 29, 29, 5
  addi 29, 29, 1
  bdnz 1b
  power_off 0
skip:
  mfsrr0 20
  addi 20, 20, 4
  mtsrr0 20
  rfi
";

/// Five lines of one set in turn, and what each cache instruction does to them; caches locked and off.
const LINES: &str = "
_start:
  caches_on
  load 10, 0x00100000
  li 29, 0
  load 4, 2000
  mtctr 4
  load 3, 4711
1: mulli 3, 3, 1103
  addi 3, 3, 12345
  rlwinm 5, 3, 20, 17, 19
  rlwimi 5, 3, 6, 24, 29
  add 7, 10, 5
  lwz 6, 0(7)
  addi 6, 6, 1
  stw 6, 0(7)
  add 29, 29, 6
  rlwinm 8, 3, 12, 28, 31
  cmpwi 8, 0
  bne 2f
  dcbz 0, 7
2: cmpwi 8, 1
  bne 3f
  dcbf 0, 7
3: cmpwi 8, 2
  bne 4f
  dcbst 0, 7
4: cmpwi 8, 3
  bne 5f
  dcbt 0, 7
5: cmpwi 8, 4
  bne 6f
  dcbst 0, 7
  dcbi 0, 7
6: cmpwi 8, 5
  bne 7f
  load 9, 0xd000
  mtspr 1008, 9
  lwz 6, 32(7)
  load 9, 0xc000
  mtspr 1008, 9
7: cmpwi 8, 6
  bne 8f
  dcbf 0, 7
  load 9, 0x8000
  mtspr 1008, 9
  lwz 6, 64(7)
  load 9, 0xc000
  mtspr 1008, 9
8: lwarx 6, 0, 7
  stwcx. 29, 0, 7
  bdnz 1b
  power_off 0
";

/// Every alignment of a word and a double word, within lines and across them.
const UNALIGNED: &str = "
_start:
  caches_on
  li 29, 0
  load 10, 0x00100fc0
  li 11, 0
1: add 12, 10, 11
  stw 11, 0(12)
  lwz 5, 1(12)
  lhz 6, 3(12)
  sth 5, 5(12)
  add 29, 29, 5
  add 29, 29, 6
  lwbrx 7, 0, 12
  add 29, 29, 7
  clrrwi 13, 12, 2
  stmw 20, 0(13)
  lmw 20, 4(13)
  li 14, 13
  mtxer 14
  stswx 5, 0, 12
  lswi 15, 12, 9
  add 29, 29, 16
  addi 11, 11, 1
  cmpwi 11, 96
  blt 1b
  power_off 0
";

/// The decrementer every few hundred cycles, system calls, programs in user mode, traced ones too.
const MODES: &str = "
_start:
  caches_on
  vector 0x0c00, handlers
  vector 0x0900, handlers
  vector 0x0d00, handlers
  li 29, 0
  li 28, 0
  li 20, 300
  mtdec 20
  load 3, user
  mtsrr0 3
  load 3, 0xd000
  mtsrr1 3
  rfi
user:
  load 4, 300
  mtctr 4
  load 10, 0x00100000
1: addi 29, 29, 7
  stwu 29, 4(10)
  lwz 5, 0(10)
  add 29, 29, 5
  sc
  bdnz 1b
  li 28, 1
  sc
  b .
handlers:
  addi 29, 29, 1
  li 20, 250
  mtdec 20
  cmpwi 28, 1
  beq 2f
  andi. 21, 29, 0x70
  mfsrr1 20
  rlwinm 20, 20, 0, 22, 20
  bne 1f
  ori 20, 20, 0x400
1: mtsrr1 20
  rfi
2: power_off 0
";

/// 48 KB of code that calls its way through, and a routine that is written anew before each call.
const CODE: &str = "
_start:
  caches_on
  li 29, 0
  li 27, 20
1: bl body
  load 10, patch
  load 11, 0x3bbd0000
  add 11, 11, 27
  stw 11, 0(10)
  dcbst 0, 10
  sync
  icbi 0, 10
  isync
  bl patch
  subi 27, 27, 1
  cmpwi 27, 0
  bne 1b
  power_off 0
.balign 32
patch:
  nop
  blr
.balign 32
body:
  mflr 26
.rept 1500
  addi 29, 29, 3
  xori 29, 29, 0x55
  bl 2f
  addi 29, 29, 1
  nop
2: cmpwi 29, 0
  blt 3f
  rlwinm 29, 29, 1, 0, 31
3:
.endr
  mtlr 26
  blr
";

/// Sums, products, quotients, conversions; loads and stores of both precisions.
const FLOAT: &str = "
_start:
  caches_on
  mfmsr 3
  ori 3, 3, 0x2000
  mtmsr 3
  isync
  load 10, 0x00100000
  load 3, 0x3ff00000
  stw 3, 0(10)
  li 3, 0
  stw 3, 4(10)
  load 3, 0x3f8ccccd
  stw 3, 8(10)
  lfd 1, 0(10)
  lfs 2, 8(10)
  fmr 3, 1
  load 4, 3000
  mtctr 4
1: fmadd 3, 3, 2, 1
  fdiv 4, 3, 2
  fsubs 5, 4, 2
  fmuls 6, 5, 2
  frsp 7, 3
  fctiwz 8, 5
  fcmpu 0, 3, 4
  stfd 3, 16(10)
  stfs 7, 24(10)
  stfd 8, 32(10)
  lwz 5, 36(10)
  add 29, 29, 5
  bgt 2f
  fneg 3, 3
2: bdnz 1b
  power_off 0
";

/// Chains of adds, multiplies, divides and loads that need one another, over lines and loops of one block;
/// some are cut short by the decrementer.
const CHAINS: &str = "
_start:
  caches_on
  vector 0x0900, handler
  load 10, 0x00100000
  stw 10, 0(10)
  li 29, 1
  li 28, 77
  li 20, 100
  mtdec 20
  load 3, again
  mtsrr0 3
  load 3, 0x9000
  mtsrr1 3
  load 4, 400
  rfi
.balign 32
again:
.rept 20
  add 29, 29, 28
.endr
  li 5, 5
  mtctr 5
1: mullw 29, 29, 28
  bdnz 1b
  divwu 6, 29, 28
  add 29, 29, 6
  lwz 10, 0(10)
  lwz 10, 0(10)
  stw 29, 4(10)
  lwz 6, 4(10)
  andi. 7, 6, 0x10
  beq 2f
  addi 29, 29, 5
2: subi 4, 4, 1
  cmpwi 4, 0
  bne again
  power_off 0
handler:
  li 20, 90
  mtdec 20
  rfi
";
