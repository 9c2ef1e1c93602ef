//! Translation and protection at their edges, as the Privileged Architecture has them and `qemu-system-riscv64` shows
//! them.

use super::extensions::{
    FRAME, MSTATUS, PAGE, SFENCE, START, T0, T1, TABLES, csrw, faults, leaf, li, load, put, u74,
    word,
};
use super::support::config;

const T3: u32 = 28;
/// MPRV with MPP of supervisor mode.
const SUPERVISOR: u64 = 1 << 17 | 1 << 11;
/// A frame of 2 MB beside [`FRAME`].
const OTHER: u32 = FRAME + 0x20_0000;
const MTVAL: u32 = 0x343;

/// The next instruction is none unless t1 is this.
fn expect(value: u64) -> Vec<u32> {
    // beq t0, t1, 8
    [li(T0, value), vec![0x0062_8463, 0]].concat()
}

/// t1 is what a CSR holds.
fn csrr(csr: u32) -> Vec<u32> {
    vec![csr << 20 | 2 << 12 | T1 << 7 | 0x73]
}

/// t1 is what machine mode reads.
fn read(at: u32) -> Vec<u32> {
    // ld t1, 0(t1)
    [li(T1, at.into()), vec![0x0003_3303]].concat()
}

/// A load or a store with t1 as its address, under this mstatus.
fn access(at: u32, status: u64, instruction: u32) -> Vec<u32> {
    let mut code = li(T1, at.into());
    code.extend(csrw(MSTATUS, status));
    // csrw mstatus, zero
    code.extend([instruction, MSTATUS << 20 | 1 << 12 | 0x73]);
    code
}

/// A store of eight bytes in supervisor mode.
fn store(at: u32, value: u64) -> Vec<u32> {
    // sd t3, 0(t1)
    let store = T3 << 20 | T1 << 15 | 3 << 12 | 0x23;
    [li(T3, value), access(at, SUPERVISOR, store)].concat()
}

/// Supervisor mode runs from `va` on, up to an exception of this cause at this place.
fn runs(va: u32, cause: u64, at: u32) -> Vec<u32> {
    let mut go = li(T1, va.into());
    // csrw mepc, t1
    go.push(0x341 << 20 | T1 << 15 | 1 << 12 | 0x73);
    go.extend(csrw(MSTATUS, 1 << 11));
    // mret
    go.push(0x3020_0073);
    // auipc t0, 0; addi t0, t0, behind `go`; csrw mtvec, t0
    let behind = 4 * (go.len() as u32 + 3);
    let mut code = vec![
        0x0000_0297,
        behind << 20 | T0 << 15 | T0 << 7 | 0x13,
        0x305 << 20 | T0 << 15 | 1 << 12 | 0x73,
    ];
    code.extend(go);
    code.extend(csrw(0x305, (START + 4).into()));
    code.extend([csrr(0x341), expect(at.into())].concat());
    code.extend([csrr(0x342), expect(cause)].concat());
    code
}

/// Regions of PMP: this one, and then all of memory.
fn protect(address: u64, configuration: u64) -> Vec<u32> {
    let regions = [csrw(0x3b0, address), csrw(0x3b1, u64::MAX >> 10)].concat();
    [regions, csrw(0x3a0, 0x1f00 | configuration), vec![SFENCE]].concat()
}

/// sfence.vma with this address.
fn fence(va: u32) -> Vec<u32> {
    [li(T0, va.into()), vec![SFENCE | T0 << 15]].concat()
}

#[test]
fn protection_is_exact_inside_of_a_page() {
    // 64 bytes without rights.
    let hidden = u64::from(FRAME + 0x40) >> 2 | 7;
    let read = |at| [load(PAGE + at), load(PAGE + at)].concat();
    let steps = |at| [leaf(word(FRAME)), protect(hidden, 0x18), read(at)];
    for (at, count) in [
        (0, 0),
        (0x38, 0),
        (0x40, 2),
        (0x78, 2),
        (0x80, 0),
        (0xff8, 0),
    ] {
        assert_eq!(faults(&u74(&[]), &steps(at), None), count, "{at:#x}");
    }
    // A region that can be read alone: loads, and stores beside it and into it.
    let steps = [
        leaf(word(FRAME)),
        protect(hidden, 0x19),
        read(0x40),
        store(PAGE + 0x38, 1),
        store(PAGE + 0x80, 1),
        store(PAGE + 0x40, 1),
    ];
    assert_eq!(faults(&u74(&[]), &steps, None), 1);
}

#[test]
fn protection_is_exact_inside_of_a_line_of_code() {
    const NOPS: u64 = 0x13_0000_0013;
    let code = (0..16).map(|n| put(FRAME + 8 * n, NOPS));
    // The region is 16 bytes at 0x50. An instruction of four bytes begins two bytes before it. ebreak is at 0x68.
    let odd = [
        put(FRAME + 0x48, 0x0013_0001_0000_0013),
        put(FRAME + 0x68, 0x0010_0073),
    ];
    let hidden = protect(u64::from(FRAME + 0x50) >> 2 | 1, 0x19);
    let begin: Vec<_> = code.chain(odd).chain([leaf(word(FRAME)), hidden]).collect();
    let bare = csrw(0x180, 0);
    let tests = |at| {
        [
            runs(at, 1, at + 0x4e),
            runs(at + 0x60, 3, at + 0x68),
            runs(at + 0x50, 1, at + 0x50),
            runs(at + 0x5c, 1, at + 0x5c),
            runs(at, 1, at + 0x4e),
        ]
        .concat()
    };
    let steps = [begin, vec![tests(PAGE), bare, tests(FRAME)]].concat();
    assert_eq!(faults(&u74(&[]), &steps, None), 0);
    assert_eq!(faults(&config("c906-1000", &[]), &steps, None), 0);
}

/// A region that has a part of an access forbids it to machine mode, too.
#[test]
fn no_access_goes_across_the_end_of_a_region() {
    let four = u64::from(FRAME) >> 2;
    // lw t1, 0(t1)
    let word = |at: u32| [li(T1, at.into()), vec![0x0003_2303]].concat();
    let steps = [
        protect(four, 0x17),
        read(FRAME),
        read(FRAME + 8),
        word(FRAME),
        word(FRAME + 4),
    ];
    assert_eq!(faults(&u74(&[]), &steps, None), 1);
}

/// An entry of a page table that a walk writes needs the right to be written.
#[test]
fn protection_keeps_walks_from_entries() {
    let table = protect(u64::from(TABLES + 0x2000) >> 2 | 0x1ff, 0x19);
    let steps = |bits| [leaf(bits), table.clone(), load(PAGE)];
    let with = u74(&["walk.update=hardware"]);
    assert_eq!(faults(&with, &steps(word(FRAME)), None), 0);
    assert_eq!(faults(&with, &steps(word(FRAME) & !0xc0), None), 1);
}

#[test]
fn a_fence_of_one_address_removes_all_parts_of_a_large_page() {
    let large = |frame| put(TABLES + 0x1000, word(frame));
    let words = [FRAME, OTHER].map(|frame| {
        let words = (0..4).map(|n| put(frame + 0x1000 * n, u64::from(frame) + u64::from(n)));
        words.collect::<Vec<_>>().concat()
    });
    // A region of one page splits the large one.
    let split = protect(u64::from(FRAME + 0x10_0000) >> 2 | 0x1ff, 0x18);
    let loads = |frame: u32| {
        (0..4).flat_map(move |n| {
            let value = u64::from(frame) + u64::from(n);
            [load(PAGE + 0x1000 * n), expect(value)].concat()
        })
    };
    let steps = [
        words.concat(),
        large(FRAME),
        split,
        loads(FRAME).collect(),
        large(OTHER),
        fence(PAGE + 0x1000),
        loads(OTHER).collect(),
    ];
    for machine in ["u74-1500", "c906-1000"] {
        assert_eq!(faults(&config(machine, &[]), &steps, None), 0, "{machine}");
    }
}

/// A remembered entry of the second level that was not valid becomes a large page.
#[test]
fn a_fence_of_one_address_removes_what_was_not_valid() {
    let large = |value| put(TABLES + 0x1000, value);
    let steps = [
        large(0),
        load(PAGE),
        load(PAGE + 0x1000),
        large(word(FRAME)),
        fence(PAGE),
        load(PAGE + 0x1000),
    ];
    assert_eq!(faults(&u74(&["tlb.keeps-invalid=true"]), &steps, None), 2);
}

/// The table leads elsewhere when a store sets the D bit.
#[test]
fn a_store_goes_to_the_page_whose_entry_becomes_dirty() {
    let clean = |frame| leaf(word(frame) & !0x80);
    let steps = [
        clean(FRAME),
        load(PAGE),
        clean(OTHER),
        store(PAGE, 0x77),
        read(OTHER),
        expect(0x77),
        read(FRAME),
        expect(0),
        read(TABLES + 0x2000),
        expect(word(OTHER)),
        load(PAGE),
        expect(0x77),
    ];
    let config = u74(&["walk.update=hardware"]);
    assert_eq!(faults(&config, &steps, None), 0);
}

#[test]
fn a_store_across_pages_names_the_first_byte_that_it_cannot_write() {
    let second = |value| put(TABLES + 0x2008, value);
    let good = word(FRAME);
    for (first, next, at) in [(good, 0, 0x1000), (0, good, 0xffc), (0, 0, 0xffc)] {
        let steps = [
            leaf(first),
            second(next),
            store(PAGE + 0xffc, u64::MAX),
            csrr(MTVAL),
            expect((PAGE + at).into()),
            read(FRAME + 0xff8),
            expect(0),
        ];
        let config = config("c906-1000", &[]);
        assert_eq!(faults(&config, &steps, None), 1, "{at:#x}");
    }
}

#[test]
fn what_user_mode_may_execute_it_may_read_where_mxr_is_set() {
    const MXR: u64 = 1 << 19;
    let user = |at, status| access(at, 1 << 17 | status, 0x0003_3303);
    // V, X, U, A and D.
    let code = word(FRAME) & !0xff | 0xd9;
    let steps = |status| [leaf(code), user(PAGE, status), user(PAGE, status)];
    assert_eq!(faults(&u74(&[]), &steps(MXR), None), 0);
    assert_eq!(faults(&u74(&[]), &steps(0), None), 2);
    // A shortcut of one mode is none of another one.
    let both = [leaf(code), user(PAGE, MXR), user(PAGE, 0), user(PAGE, MXR)];
    assert_eq!(faults(&u74(&[]), &both, None), 1);
}
