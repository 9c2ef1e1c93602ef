//! The programs that use everything that a core has: for each core the instructions of its classes, its caches, its
//! pages and its way of reloading a TLB.

/// Instructions of every class that all cores have, then of those with segments and floating point. Each is run three
/// times, and its result is used.
const CLASSES: &[&str] = &[
    "add 5, 6, 7",
    "cmpwi 5, 3",
    "mulli 5, 6, 7",
    "mullw 5, 6, 7",
    "mulhwu 5, 6, 7",
    "divw 5, 6, 7",
    "lwz 5, 0(10)",
    "stw 5, 0(10)",
    "lmw 30, 0(10)",
    "stmw 30, 0(10)",
    "lwarx 5, 0, 10",
    "stwcx. 5, 0, 10",
    "mfspr 5, 272",
    "mtspr 272, 5",
    "mtlr 5",
    "mfmsr 8",
    "mtmsr 8",
    "mfcr 5",
    "mtcrf 0x80, 5",
    "cror 2, 6, 2",
    "mftb 5",
    "twi 4, 6, 77",
    "isync",
    "sync",
    "eieio",
    "tlbie 11",
    "tlbsync",
    "dcbt 0, 10",
    "dcbz 0, 10",
    "dcbf 0, 10",
    "dcbi 0, 10",
    "icbi 0, 10",
];
const CLASSES_6XX: &[&str] = &[
    "mfsr 5, 4",
    "mtsr 4, 5",
    "lfd 1, 0(10)",
    "fmr 1, 2",
    "fadd 1, 2, 2",
    "fmuls 1, 2, 2",
    "fmul 1, 2, 2",
    "fdivs 1, 2, 2",
    "fdiv 1, 2, 2",
    "fcmpu 0, 1, 2",
    "fres 1, 2",
    "mffs 1",
];
/// tlbld and tlbli.
const CLASSES_603: &[&str] = &[".long 0x7c005fa4", ".long 0x7c005fe4"];

/// tlbre.
const CLASSES_405: &[&str] = &["li 11, 3\ntlbre 5, 11, 1"];

/// What only the 970 has.
const CLASSES_970: &[&str] = &[
    "mulld 5, 6, 7",
    "divd 5, 6, 7",
    "fsqrt 1, 2",
    "li 11, 3\nslbmfee 5, 11",
];

/// Instructions that complete after a divide.
const DIVIDE: &str = "
  li 4, 4
  mtctr 4
1: divw 5, 6, 7
  add 8, 6, 7
  add 9, 6, 7
  add 12, 6, 7
  add 13, 6, 7
  isync
  bdnz 1b
";

/// The device tree, the time base, a device, system calls, the decrementer.
const SURROUNDINGS: &str = "
_start:
  mr 27, 3
  vector 0x0900, tick
  vector 0x0c00, call
  lwz 4, 4(27)
  srwi 4, 4, 2
  mtctr 4
  mfspr 5, 287
  subi 6, 27, 4
1: lwzu 7, 4(6)
  mulli 5, 5, 1103
  add 5, 5, 7
  bdnz 1b
  load 6, 0x9e3779b1
  mullw 5, 5, 6
  srwi 5, 5, 22
  addi 5, 5, 1
  mtctr 5
1: bdnz 1b
  caches_on
  load 10, 0x800003f8
  lbz 5, 5(10)
  load 10, 0x00100000
  load 11, 0x50000000
  li 6, 1
  li 5, 300
  mtdec 5
  load 8, 0x9000
  mtmsr 8
  li 9, 20
1: sc
  mftb 5
  andi. 5, 5, 31
  addi 5, 5, 1
  mtctr 5
2: bdnz 2b
  subic. 9, 9, 1
  bne 1b
  load 8, 0x1000
  mtmsr 8
  li 31, 0
  li 30, 0
";

/// Random loads and stores in 64 KB, and calls to 2048 small routines; more stores, touched lines and written-back
/// lines than can wait; lines that share a set of a second-level cache.
const CACHES: &str = "
  load 10, 0x00100000
  load 3, 12345
  li 4, 1500
  mtctr 4
1: mulli 3, 3, 1103
  addi 3, 3, 12345
  rlwinm 5, 3, 14, 16, 26
  add 7, 10, 5
  lwz 6, 8(7)
  lwz 6, 24(7)
  andi. 9, 3, 4
  beq 2f
  stw 3, 16(7)
2: bdnz 1b
  li 4, 2500
1: mulli 3, 3, 1103
  addi 3, 3, 12345
  rlwinm 5, 3, 14, 16, 26
  load 7, routines
  add 7, 7, 5
  mtctr 7
  bctrl
  subic. 4, 4, 1
  bne 1b
  li 4, 40
1: mulli 3, 3, 1103
  addi 3, 3, 12345
  rlwinm 5, 3, 14, 16, 26
  add 7, 10, 5
.irp number, 0, 1, 2, 3, 4, 5, 6, 7
  stw 3, 0x1000 * \\number(7)
.endr
.irp number, 0, 1, 2, 3, 4, 5, 6, 7
  li 8, 0x1000 * \\number
  dcbf 7, 8
.endr
.irp number, 0, 1, 2, 3, 4, 5, 6, 7
  li 8, 0x800 * \\number
  dcbt 7, 8
.endr
  divw 8, 3, 4
  divw 8, 3, 4
  divw 8, 3, 4
  divw 8, 3, 4
.irp number, 0, 1, 2, 3, 4, 5, 6, 7
  lwz 8, 0x800 * \\number(7)
.endr
.irp number, 0, 1, 2, 3, 4, 5, 6, 7
  li 8, 0x1000 * \\number
  dcbz 7, 8
.endr
  subic. 4, 4, 1
  bne 1b
  li 4, 1000
  mtctr 4
1: mulli 3, 3, 1103
  addi 3, 3, 12345
  rlwinm 5, 3, 2, 10, 13
  addis 7, 5, 0x40
  lwz 6, 0(7)
  lwz 6, 24(7)
.irp number, 1, 2, 3, 4, 5, 6, 7
  lwz 6, 0x1000 * \\number(7)
.endr
  bdnz 1b
";

/// Random loads from 256 pages, and calls to them.
const PAGES: &str = "
  load 3, 4711
  load 10, 0x40000000
  li 4, 1000
1: mulli 3, 3, 1103
  addi 3, 3, 12345
  rlwinm 5, 3, 17, 12, 19
  add 7, 10, 5
  lwz 6, 64(7)
  stw 6, 64(7)
  rlwinm 5, 3, 13, 12, 19
  add 7, 10, 5
  mtctr 7
  bctrl
  subic. 4, 4, 1
  bne 1b
";

/// The frame of those pages holds returns.
const RETURNS: &str = "
  load 5, 0x4e800020
  load 6, 0x002ffffc
  li 4, 1024
  mtctr 4
1: stwu 5, 4(6)
  bdnz 1b
";

const END: &str = "
  power_off 0
tick:
  li 20, 300
  mtdec 20
  rfi
call:
  rfi
skip:
  mfsrr0 20
  addi 20, 20, 4
  mtsrr0 20
  rfi
.balign 32
routines:
.rept 2048
  mulli 5, 3, 3
  andi. 5, 5, 1
  beqlr
  add 6, 6, 3
  blr
  nop
  nop
  nop
.endr
";

/// The pages in the hash table: frame 0x300, in the first slot of their groups.
const HASH_TABLE: &str = "
  vector 0x0300, skip
  li 5, 0
  load 8, 0x80009180
  load 9, 0x00300012
1: xori 6, 5, 0x123
  slwi 6, 6, 6
  addis 6, 6, 0x20
  stw 8, 0(6)
  stw 9, 4(6)
  addi 5, 5, 1
  cmpwi 5, 256
  blt 1b
  paging
  load 10, 0x60000000
  lwz 5, 0(10)
";

/// The same on the 970.
const HASH_TABLE_970: &str = "
  vector 0x0380, skip
  li 5, 0
  load 8, 0x00123001
  load 9, 0x00300012
1: xori 6, 5, 0x123
  slwi 6, 6, 7
  addis 6, 6, 0x20
  stw 8, 4(6)
  stw 9, 12(6)
  dcbf 0, 6
  addi 5, 5, 1
  cmpwi 5, 256
  blt 1b
  divw 5, 6, 7
.rept 130
  addi 8, 8, 1
.endr
  isync
  load 5, 0x4e800020
  load 8, 0x00310000
  load 9, 0x00320000
  stw 5, 0(8)
  stw 5, 0(9)
  dcbst 0, 8
  dcbst 0, 9
  sync
  li 6, 10
1: mtctr 8
  bctrl
  mtctr 9
  bctrl
  addic. 6, 6, -1
  bne 1b
  paging
  load 8, 0x00330000
  li 6, 4
1: lwz 5, 0(8)
  li 5, 12
  mtctr 5
  mr 9, 8
2: dcbt 0, 9
  addi 9, 9, 128
  bdnz 2b
  li 5, 12
  mtctr 5
3: lwz 5, 0(8)
  addi 8, 8, 128
  bdnz 3b
  addic. 6, 6, -1
  bne 1b
  load 10, 0x60000000
  lwz 5, 0(10)
";

/// On a 603 every missing page is mapped to that frame.
const RELOAD_603: &str = "
  vector 0x1000, reload_code
  vector 0x1100, reload_data
  vector 0x1200, reload_data
  paging
";
const HANDLERS_603: &str = "
reload_code:
  mfspr 0, 980
  load 1, 0x00300192
  mtspr 982, 1
  .long 0x7c0007e4
  mfspr 1, 27
  mtcrf 0x80, 1
  rfi
reload_data:
  mfspr 0, 976
  load 1, 0x00300192
  mtspr 982, 1
  .long 0x7c0007a4
  mfspr 1, 27
  mtcrf 0x80, 1
  rfi
";

/// The same on the 8xx.
const RELOAD_8XX: &str = "
  vector 0x1100, reload_code
  vector 0x1200, reload_data
  paging
";
const HANDLERS_8XX: &str = "
reload_code:
  mtspr 799, 3
  mfspr 3, 26
  rlwinm 3, 3, 0, 0, 19
  ori 3, 3, 0x200
  mtspr 787, 3
  li 3, 1
  mtspr 789, 3
  load 3, 0x003009f5
  mtspr 790, 3
  mfspr 3, 799
  rfi
reload_data:
  mtspr 799, 3
  li 3, 1
  mtspr 797, 3
  load 3, 0x003009f5
  mtspr 798, 3
  mfspr 3, 799
  rfi
";

/// The same on the 405, whose entries are replaced in turn. Before, nine pages in turn: more than the shadow TLB holds.
const RELOAD_405: &str = "
  vector 0x1100, reload_data
  vector 0x1200, reload_code
  paging
.irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8
  map 40 + \\number, 0x500000c0 + 0x1000 * \\number, 0x00300300
.endr
  li 6, 20
2: load 10, 0x50000000
  li 5, 9
  mtctr 5
1: lwz 5, 0(10)
  addi 10, 10, 0x1000
  bdnz 1b
  addic. 6, 6, -1
  bne 2b
";
const HANDLERS_405: &str = "
.macro reload address
  mtspr 272, 3
  mtspr 273, 4
  mfspr 4, 276
  addi 4, 4, 1
  rlwinm 4, 4, 0, 27, 31
  mtspr 276, 4
  load 3, 0x00300300
  tlbwe 3, 4, 1
  mfspr 3, \\address
  rlwinm 3, 3, 0, 0, 19
  ori 3, 3, 0xc0
  tlbwe 3, 4, 0
  mfspr 3, 272
  mfspr 4, 273
  rfi
.endm
reload_code:
  reload 26
reload_data:
  reload 981
";

/// The decrementer's place is taken by the 405's interval timer, and that of `tlbie` by `tlbia`.
fn with_interval_timer(source: &str) -> String {
    source
        .replace(
            "vector 0x0900, tick",
            "vector 0x1000, tick\nlis 5, 0x0400\nmtspr 986, 5",
        )
        .replace(
            "li 20, 300",
            "lis 20, 0x0800\n  mtspr 984, 20\n  li 20, 300",
        )
        .replace("mtdec", "mtspr 987,")
        .replace("tlbie 11", "tlbia")
}

/// The program for a core.
pub fn source(kind: &str) -> String {
    let text = plain_source(kind);
    if kind == "405" {
        with_interval_timer(&text)
    } else if kind == "970" {
        text.replace("rfi\n", "rfid\n").replace("dcbi 0, 10", "nop")
    } else {
        text
    }
}

fn plain_source(kind: &str) -> String {
    let mut text = SURROUNDINGS.to_owned();
    if kind == "750" {
        // L2 on, and HID0[ABE]: what caches do is broadcast.
        text += "load 5, 0x80200000\nmtspr 1017, 5\nload 5, 0x80000000\nmtspr 1017, 5\n";
        text += "load 5, 0xc008\nmtspr 1008, 5\n";
    }
    let six = if matches!(kind, "8xx" | "405") {
        &[][..]
    } else {
        CLASSES_6XX
    };
    if !six.is_empty() {
        text += "mfmsr 8\nori 8, 8, 0x2000\nmtmsr 8\nisync\n";
    }
    // The second time the I-cache holds it all, and nothing hides what an instruction takes.
    text += "mfmsr 8\nli 14, 2\nclasses:\n";
    let three = if kind.starts_with("603") {
        CLASSES_603
    } else if kind == "405" {
        CLASSES_405
    } else if kind == "970" {
        CLASSES_970
    } else {
        &[]
    };
    for word in [CLASSES, six, three].concat() {
        text += &format!("li 7, 3\n{word}\n{word}\n{word}\nisync\n");
    }
    text += "subic. 14, 14, 1\nbne classes\n";
    text += DIVIDE;
    text += RETURNS;
    let (table, handlers) = match kind {
        "8xx" => (RELOAD_8XX, HANDLERS_8XX),
        "405" => (RELOAD_405, HANDLERS_405),
        "970" => (HASH_TABLE_970, ""),
        _ if kind.starts_with("603") => (RELOAD_603, HANDLERS_603),
        _ => (HASH_TABLE, ""),
    };
    text += table;
    text += CACHES;
    text += PAGES;
    text + END + handlers
}
