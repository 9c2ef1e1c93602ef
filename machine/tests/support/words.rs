//! Guests of random words in supervisor mode.

#![allow(dead_code, reason = "every test file uses a part of this")]

use pagewalk_machine::board::Console;
use pagewalk_machine::powerpc::loader::{Boot, Chunk};
use pagewalk_machine::powerpc::session::Session;
use proptest::prelude::*;

use super::support::config;

/// The smallest memory that these programs need.
pub const SMALL: &str = "memory.size=0x100000";

/// Words that are mostly instructions, many of them privileged.
pub fn word() -> impl Strategy<Value = u32> {
    let sprs: [u32; 22] = [
        1, 8, 9, 22, 26, 27, 528, 536, 952, 1008, 25, 982, 80, 560, 568, 784, 787, 790, 792, 793,
        797, 798,
    ];
    prop_oneof![
        2 => any::<u32>(),
        4 => (any::<u32>(), 0..1024u32).prop_map(|(w, x)| 31 << 26 | w & 0x03ff_f801 | x << 1),
        1 => (any::<u32>(), prop::sample::select(vec![16u32, 33, 150, 192, 50, 528, 257]))
            .prop_map(|(w, x)| 19 << 26 | w & 0x03ff_f801 | x << 1),
        2 => any::<u32>().prop_map(|w| 14 << 26 | w & 0x03ff_ffff),
        2 => (any::<u32>(), 32..56u32).prop_map(|(w, o)| o << 26 | w & 0x03e0_7fff),
        1 => (any::<u32>(), prop::sample::select(vec![59u32, 63]))
            .prop_map(|(w, o)| o << 26 | w & 0x03ff_ffff),
        1 => (0..32u32, prop::sample::select(sprs.to_vec()))
            .prop_map(|(r, n)| 0x7c00_03a6 | r << 21 | (n & 31) << 16 | (n >> 5) << 11),
        // mtmsr, tlbie, tlbld, mtsrin, rfi; branches of few words.
        1 => (0..32u32, prop::sample::select(vec![0x7c00_0124u32, 0x7c00_0264, 0x7c00_07a4, 0x7c00_01e4]))
            .prop_map(|(r, w)| w | r << 21 | r << 11),
        1 => (-16..16i32).prop_map(|d| 18 << 26 | (d << 2) as u32 & 0x03ff_fffc),
        1 => Just(0x4c00_0064),
    ]
}

/// A machine that begins in random words, which are also its vectors' handlers.
pub fn among(words: &[u32], machine: &str, caches: bool) -> Session {
    let mut words: Vec<u32> = words.iter().copied().cycle().take(0x1000).collect();
    if caches {
        let on = if machine == "mpc855t-48" {
            // lis r3, 0x0200; mtspr IC_CST, r3; mtspr DC_CST, r3; isync
            [0x3c60_0200, 0x7c70_8ba6, 0x7c78_8ba6, 0x4c00_012c]
        } else {
            // lis r3, 0; ori r3, r3, 0xc000; mtspr HID0, r3; isync
            [0x3c60_0000, 0x6063_c000, 0x7c70_fba6, 0x4c00_012c]
        };
        words[0x800..0x804].copy_from_slice(&on);
    }
    let bytes = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    let boot = Boot {
        chunks: vec![Chunk { physical: 0, bytes }],
        entry: 0x2000,
        ..Boot::default()
    };
    Session::new(config(machine, &[SMALL]), &boot, Console::memory()).expect("it fits")
}
