//! Small machines' parts for the tests of MMU and memory.

#![allow(dead_code)] // Each test program uses some of these.

use std::sync::LazyLock;

use pagewalk_machine::account::{Account, Cause};
use pagewalk_machine::board::{Board, Console};
use pagewalk_machine::config::MachineConfig;
use pagewalk_machine::memory::l2::l2cr;
use pagewalk_machine::memory::{
    Broadcast, BusTiming, CacheGeometry, Forward, L2Timing, Memory, MemoryPace, MemoryTiming,
    Pattern, Ram, Replacement, TouchedLine, Uncore,
};
use pagewalk_machine::powerpc::mmu::{
    DirectStore, Front6xx, Mmu, MmuGeometry, Reload, Soft6xx, TlbGeometry, WalkTiming,
};
use pagewalk_machine::powerpc::msr;
use proptest::test_runner::{Config, RngSeed};

/// RAM of the tests' machines: 4 MB.
pub const RAM: usize = 4 << 20;

/// Where the tests keep their hash table: 64 KB at 2 MB.
pub const TABLE: u32 = 0x20_0000;

/// Translation on, supervisor.
pub const SUPERVISOR: u32 = msr::IR | msr::DR;

/// Translation on, user.
pub const USER: u32 = SUPERVISOR | msr::PR;

/// A 16 KB, 4-way, 32-byte-line LRU cache.
pub fn l1() -> CacheGeometry {
    CacheGeometry {
        size: 16384,
        ways: 4,
        line: 32,
        replacement: Replacement::Lru,
    }
}

/// A 2:1 bus with the pattern 6-3-3-3.
pub fn bus() -> BusTiming {
    BusTiming {
        ratio_x2: 4,
        request: 1,
        turnaround: 1,
        return_path: 0,
        depth: 1,
        streaming: false,
        memory: MemoryPace::Constant(Pattern {
            read_first: 6,
            read_next: 3,
            write_first: 3,
            write_next: 1,
        }),
        address_only: 3,
        beat: 8,
        line: 32,
    }
}

/// A memory unit that forwards each beat and has no store queue, one write-back buffer, and two touch
/// buffers.
pub fn unit() -> MemoryTiming {
    MemoryTiming {
        instruction_forward: Forward::Beats,
        data_forward: Forward::Beats,
        store_queue: 0,
        write_back_buffers: 1,
        touch_buffers: 2,
        touched_line: TouchedLine::Cache,
        icbi_whole_set: false,
        broadcast: Broadcast::Never,
        tlb_broadcast: true,
        shared_state: true,
        stores_through: false,
        data_blocked: false,
        fills_wait: false,
        loads_ahead: false,
        several: false,
    }
}

/// Memory with both caches on.
pub fn memory(l2: Option<(CacheGeometry, L2Timing)>, bus: BusTiming, unit: MemoryTiming) -> Memory {
    static CONFIG: LazyLock<MachineConfig> = LazyLock::new(|| {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../machines/ppc604-133.toml");
        MachineConfig::from_file(file.as_ref(), &[]).expect("a machine file")
    });
    let board = Board::new(&CONFIG, Console::memory());
    let uncore = Uncore::new(Ram::new(RAM), [l2, None], bus, board).expect("valid shapes");
    let mut memory = Memory::new(uncore, l1(), l1(), unit).expect("valid shapes");
    memory.enable_caches();
    memory.uncore.write_l2cr(l2cr::L2E);
    memory
}

/// Memory as most tests want it.
pub fn plain_memory() -> Memory {
    memory(None, bus(), unit())
}

/// An account in kernel mode.
pub fn account() -> Account {
    let mut account = Account::new(RAM, 32);
    account.cause = Cause::KERNEL;
    account
}

/// A walker's timing as on the 750.
pub fn walker() -> WalkTiming {
    WalkTiming {
        start: 2,
        access: 3,
        finish: 2,
        forward: Forward::Line,
        cached: true,
    }
}

/// An MMU of `entries` + `entries` TLB entries.
pub fn mmu(entries: u32, ways: u32, reload: Reload) -> Mmu {
    let tlb = TlbGeometry { entries, ways };
    let mut mmu = Mmu::new(MmuGeometry {
        instruction: tlb,
        data: tlb,
        bats: 4,
        reload,
        direct_store: DirectStore::Unsupported,
    })
    .expect("valid shapes");
    mmu.six().sdr1 = TABLE;
    mmu
}

/// The parts of an MMU that a test knows to be there.
pub trait Parts {
    /// BATs, segments and TLBs of a 603, 604 or 750.
    fn six(&mut self) -> &mut Front6xx;
    /// A 603's MMU.
    fn soft(&mut self) -> &mut Soft6xx;
}

impl Parts for Mmu {
    fn six(&mut self) -> &mut Front6xx {
        self.front_mut().expect("a 603, 604 or 750")
    }

    fn soft(&mut self) -> &mut Soft6xx {
        self.soft6xx_mut().expect("a 603")
    }
}

/// A 604's or 750's MMU.
pub fn hash_mmu() -> Mmu {
    mmu(128, 2, Reload::Hash(walker()))
}

/// A 603e's MMU.
pub fn soft_mmu() -> Mmu {
    mmu(64, 2, Reload::Software { key: true })
}

/// Writes a PTE for `ea` in the segment of `vsid` into `slot` of its primary or secondary PTEG of the
/// 64 KB table, worked out here from the architecture's text and not by the machine's code. Returns
/// the PTE's physical address.
pub fn put_pte(
    memory: &mut Memory,
    vsid: u32,
    ea: u32,
    word1: u32,
    secondary: bool,
    slot: u32,
) -> u32 {
    let page_index = (ea >> 12) & 0xffff;
    let mut hash = (vsid & 0x7ffff) ^ page_index;
    if secondary {
        hash ^= 0x7ffff;
    }
    let pa = TABLE + (hash % 1024) * 64 + slot * 8;
    let api = page_index >> 10;
    let word0 = 0x8000_0000 | vsid << 7 | u32::from(secondary) << 6 | api;
    assert!(memory.uncore.ram.write_u32(pa, word0));
    assert!(memory.uncore.ram.write_u32(pa + 4, word1));
    pa
}

/// The same cases in every run.
pub fn cases() -> Config {
    Config {
        rng_seed: RngSeed::Fixed(0x7061_6765_7761_6c6b),
        failure_persistence: None,
        ..Config::with_cases(512)
    }
}
