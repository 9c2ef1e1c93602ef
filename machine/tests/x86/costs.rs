//! Time: the clock table, and every key of the machine files.

use pagewalk_machine::config::Override;
use pagewalk_machine::x86::Config;
use pagewalk_machine::x86::registers::eflags;

use super::bench::{Bench, CODE, DATA, DIRECTORY, config, config_without_window};
use super::{several, snapshot};

/// Clocks of the second pass of `code` on an i486: everything is in the cache.
fn clocks(code: &[u8]) -> u64 {
    let mut bench = Bench::new("i486dx-50", code);
    bench.registers().gpr[1] = 1;
    bench.registers().gpr[6] = DATA;
    bench.registers().gpr[7] = DATA + 0x100;
    let stack = bench.registers().gpr[4];
    let mut last = 0;
    for _ in 0..3 {
        bench.registers().eip = CODE;
        bench.registers().gpr[1] = 1;
        bench.registers().gpr[4] = stack;
        bench.processor().modes_changed();
        // Posted writes end.
        let before = bench.machine.instant().cycles;
        bench.run(1);
        last = bench.machine.instant().cycles - before;
    }
    last
}

/// The clocks of the table that the machine's figures come from.
#[test]
fn instructions_cost_their_clocks() {
    for (code, wanted) in [
        (&[0x01, 0xd8][..], 1),   // add eax, ebx
        (&[0x03, 0x06], 2),       // add eax, [esi]
        (&[0x01, 0x06], 3),       // add [esi], eax
        (&[0x8b, 0x06], 1),       // mov eax, [esi]
        (&[0x89, 0x06], 1),       // mov [esi], eax
        (&[0x3b, 0x06], 2),       // cmp eax, [esi]
        (&[0x0f, 0xb6, 0xc3], 3), // movzx
        (&[0x8d, 0x46, 0x04], 1), // lea eax, [esi + 4]
        (&[0x50], 1),             // push
        (&[0x58], 1),             // pop
        (&[0xd1, 0xe0], 3),       // shl eax, 1
        (&[0xc1, 0xe0, 3], 2),    // shl eax, 3
        (&[0x0f, 0xc8], 1),       // bswap
        (&[0xeb, 0x00], 3),       // jmp
        (&[0xe8, 0, 0, 0, 0], 3), // call
        (&[0x74, 0x00], 1),       // je, not taken
        (&[0x75, 0x00], 3),       // jne, taken
        (&[0xf7, 0xe1], 13),      // mul ecx, of one bit
        (&[0xf7, 0xf1], 40),      // div ecx
        (&[0x99], 3),             // cdq
        (&[0xfa], 5),             // cli
        (&[0x66, 0x01, 0xd8], 2), // a prefix
    ] {
        assert_eq!(clocks(code), wanted, "{code:x?}");
    }
}

/// A P6's load takes `clocks.load` cycles until the next instruction can use what it loaded as an address. Without the
/// key that instruction waits for nothing.
#[test]
fn a_p6_load_has_a_latency() {
    let cycles = |config: &Config, code: &[u8]| {
        let mut bench = Bench::with(config, &code.repeat(30));
        bench.put_word(DATA, DATA);
        let mut last = 0;
        for _ in 0..3 {
            bench.registers().eip = CODE;
            bench.registers().gpr[6] = DATA;
            bench.processor().modes_changed();
            let before = bench.machine.instant().cycles;
            bench.run(30);
            last = bench.machine.instant().cycles - before;
        }
        last
    };
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../machines/p6-200.toml");
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("load = "));
    let text: Vec<&str> = lines.collect();
    let size = [Override::parse("memory.size=0x200000").unwrap()];
    let without = Config::from_toml(&text.join("\n"), "m.toml", &size).unwrap();
    let with = config("p6-200", &[]);
    let (chain, apart) = (&[0x8b, 0x36], &[0x8b, 0x06]); // mov esi, [esi]; mov eax, [esi]
    assert_eq!(cycles(&without, chain), 10);
    assert_eq!(cycles(&with, apart), 10);
    // The first address waits for nothing: 29 loads of three cycles, and a slot.
    let all = cycles(&with, chain);
    assert!((87..=88).contains(&all), "{all}");
}

#[test]
fn an_address_waits_for_its_register() {
    // mov esi, edi; mov eax, [esi] - and with another register between.
    let near = [0x89, 0xfe, 0x8b, 0x06];
    let far = [0x89, 0xfa, 0x8b, 0x06];
    let time = |code: &[u8]| {
        let mut bench = Bench::new("i486dx-50", code);
        bench.machine.set_hosted(true);
        bench.registers().gpr[6] = DATA;
        bench.registers().gpr[7] = DATA;
        let mut last = 0;
        for _ in 0..2 {
            bench.registers().eip = CODE;
            bench.processor().modes_changed();
            let before = bench.machine.instant().cycles;
            bench.run(1000);
            last = bench.machine.instant().cycles - before;
            bench.registers().gpr[7] = DATA;
        }
        last
    };
    // UD2 ends a pass.
    let code = |pair: &[u8]| [&pair.repeat(14)[..], &[0x0f, 0x0b]].concat();
    assert_eq!(time(&code(&near)), time(&code(&far)) + 14);
}

/// A program of ring 0 and ring 3 that uses everything that a machine file gives a cost or a size.
fn workload(kind: &str, setting: Option<&str>) -> u64 {
    let settings: Vec<&str> = setting.into_iter().collect();
    let config = config_without_window(kind, &settings);
    let p6 = kind == "p6-200";
    let mut code = Vec::new();
    // Memory: a walk over 64 KB twice, with writes; then 0x3f000 on.
    code.extend([0xb9, 0x00, 0x08, 0, 0]); // mov ecx, 0x800
    code.extend([0xbe]); // mov esi, DATA
    code.extend(0x10_0000u32.to_le_bytes());
    code.extend([0x8b, 0x06]); // mov eax, [esi]
    code.extend([0x89, 0x46, 0x04]); // mov [esi + 4], eax
    code.extend([0x8b, 0x46, 0x0d]); // mov eax, [esi + 13]: not aligned
    code.extend([0x8b, 0x46, 0x1d]); // mov eax, [esi + 29]: in two lines
    code.extend([0x81, 0xc6, 0x20, 0x02, 0, 0]); // add esi, 0x220
    code.extend([0x81, 0xe6, 0xff, 0xff, 0x1f, 0]); // and esi, 0x1fffff
    code.extend([0x81, 0xce, 0, 0, 0x10, 0]); // or esi, 0x100000
    code.extend([0xf0, 0x01, 0x06]); // lock add [esi], eax
    code.extend([0x40, 0xa8, 0x05, 0x75, 0x00]); // inc eax; test al, 5; jnz +0
    code.extend([0xe2, 0xd7]); // loop
    // 16 pages again and again.
    code.extend([0xb9, 0x00, 0x01, 0, 0]); // mov ecx, 0x100
    code.extend([0x8b, 0x06]); // mov eax, [esi]
    code.extend([0x81, 0xc6, 0x00, 0x10, 0, 0]); // add esi, 0x1000
    code.extend([0x81, 0xe6, 0xff, 0xff, 0x10, 0]); // and esi, 0x10ffff
    code.extend([0xe2, 0xf0]); // loop
    // The system.
    code.extend([0x0f, 0x20, 0xd8, 0x0f, 0x22, 0xd8]); // mov eax, cr3; mov cr3, eax
    code.extend([0x0f, 0x20, 0xc0, 0x0f, 0x22, 0xc0]); // the same of cr0
    code.extend([0x0f, 0x01, 0x3d]); // invlpg
    code.extend(DATA.to_le_bytes());
    code.extend([0x0f, 0x01, 0x05]); // sgdt [DATA]
    code.extend(DATA.to_le_bytes());
    code.extend([0x0f, 0x01, 0x15]); // lgdt [DATA]
    code.extend(DATA.to_le_bytes());
    code.extend([0x66, 0x31, 0xc0, 0x0f, 0x00, 0xd0]); // xor ax, ax; lldt ax
    code.extend([0xb8, 0x48, 0, 0, 0, 0x0f, 0x00, 0xd8]); // ltr 0x48
    code.extend([0x8c, 0xd8, 0x8e, 0xd8]); // mov eax, ds; mov ds, eax
    code.extend([0x0f, 0x09]); // wbinvd
    code.extend([0xe4, 0x70]); // in al, 0x70
    code.extend([0xa1]); // mov eax, [a device's address]
    code.extend(0x4000_0000u32.to_le_bytes());
    code.extend([0xcd, 0x40]); // int 0x40, same ring; iret
    let far = CODE + 0x700;
    code.push(0x9a); // call far
    code.extend(far.to_le_bytes());
    code.extend([0x08, 0]);
    code.push(0x9a); // call through a gate
    code.extend([0, 0, 0, 0, 0x40, 0]);
    let next = CODE + code.len() as u32 + 7;
    code.push(0xea); // jmp far
    code.extend(next.to_le_bytes());
    code.extend([0x08, 0]);
    // To ring 3: push ss, esp, flags, cs, eip; iret
    code.extend([0x6a, 0x23, 0x68, 0, 0, 3, 0, 0x6a, 0x02, 0x6a, 0x1b]);
    let user = CODE + code.len() as u32 + 6;
    code.push(0x68);
    code.extend(user.to_le_bytes());
    code.push(0xcf);
    code.push(0x9a); // call through the gate to ring 0, retf to ring 3
    code.extend([0, 0, 0, 0, 0x43, 0]);
    code.extend([0xcd, 0x80]); // int 0x80: the end
    assert!(code.len() < 0x600);
    let mut bench = Bench::with(&config, &code)
        .paged(6)
        .gate(0x40, 3)
        .gate(0x80, 3);
    bench.put(super::bench::handler(0x40), &[0xcf]);
    bench.put(far, &[0xcb]);
    let gdt = super::bench::GDT;
    bench.put_word(gdt + 0x40, 0x08 << 16 | far & 0xffff);
    bench.put_word(gdt + 0x44, far & 0xffff_0000 | 0xec00);
    bench.put_word(gdt + 0x48, super::bench::TSS << 16 | 0x67);
    bench.put_word(gdt + 0x4c, 0x8900 | super::bench::TSS >> 16);
    // The device's page, through a directory entry of its own.
    bench.put_word(super::bench::DIRECTORY + 4 * 0x100, super::bench::TABLE | 7);
    let device = 0xfee0_0000 | 7 | 0x10;
    bench.put_word(super::bench::TABLE, device);
    let _ = p6;
    bench.registers().set_eflags(0, eflags::STATUS);
    bench.processor().modes_changed();
    let vector = {
        let stop = bench.run(100_000);
        assert!(
            matches!(stop, pagewalk_machine::x86::Stop::Fatal(_)),
            "{kind} {setting:?}: {stop:?} at {:#x}",
            bench.registers().eip
        );
        (bench.registers().eip - 1 - super::bench::handler(0)) / 16
    };
    assert_eq!(vector, 0x80, "{kind} {setting:?}");
    bench.machine.instant().cycles
}

/// Code of many pages and lines, in ring 0: 4 pages that share sets, 16 pages, and 80 lines, again and again; and pages
/// of 4 MB, for code and data.
fn wide_code(settings: &[&str]) -> String {
    const PLACES: u32 = 0x8_0000;
    let mut code = Vec::new();
    let mut calls = |targets: &mut dyn Iterator<Item = u32>| {
        code.extend([0xb9, 8, 0, 0, 0]); // mov ecx, 8
        let top = code.len();
        for target in targets {
            let next = CODE + code.len() as u32 + 5;
            code.push(0xe8);
            code.extend(target.wrapping_sub(next).to_le_bytes());
        }
        code.push(0x49); // dec ecx; jnz
        let back = top as i32 - (code.len() as i32 + 6);
        code.extend([0x0f, 0x85]);
        code.extend(back.to_le_bytes());
    };
    calls(&mut (0..4).map(|n| PLACES + n * 0x2_0000));
    calls(&mut (0..16).map(|n| PLACES + n * 0x1000));
    calls(&mut (0..80).map(|n| PLACES + n * 0x20));
    // The same frame through pages of 4 MB.
    calls(&mut [1, 3].into_iter().map(|n| PLACES + n * 0x40_0000));
    calls(&mut (1..7).map(|n| PLACES + n * 0x40_0000));
    code.push(0xf4);
    let config = config("p6-200", settings);
    let mut bench = Bench::with(&config, &code).paged(2);
    for n in 0..0x1_8000 / 0x20 {
        // mov eax, [esi]; add esi, 0x400000; and esi, 0x1ffffff; the same of edi: 0x2000000, 0x7ffffff; ret
        let text = [
            0x8b, 0x06, 0x81, 0xc6, 0, 0, 0x40, 0, 0x81, 0xe6, 0xff, 0xff, 0xff, 0x01, 0x8b, 0x07,
            0x81, 0xc7, 0, 0, 0, 0x02, 0x81, 0xe7, 0xff, 0xff, 0xff, 0x07, 0xc3,
        ];
        bench.put(PLACES + n * 0x20, &text);
    }
    for n in 1..4 {
        bench.put(PLACES + n * 0x2_0000, &[0xc3]);
    }
    for n in 1..32 {
        bench.put_word(DIRECTORY + 4 * n, 0x83);
    }
    let registers = bench.registers();
    registers.cr4 |= pagewalk_machine::x86::registers::cr4::PSE;
    registers.gpr[6] = 0x40_0000;
    registers.gpr[7] = 0x40_0000;
    bench.processor().modes_changed();
    bench.run(100_000);
    bench.processor().settle();
    format!(
        "{:?} {:?}",
        bench.machine.instant(),
        bench.machine.counters()
    )
}

/// The counters of a kernel whose timer interrupts.
fn interrupted(kind: &str, settings: &[&str]) -> String {
    let mut session = snapshot::one_with(kind, settings);
    let stop = session.run(pagewalk_machine::powerpc::machine::Limits::NONE);
    snapshot::outcome(&session, &stop).0
}

/// Keys that no workload moves: they say what the machine is, or that a part is there; all caches have lines of one
/// length; TLBs and caches have one way of replacement.
const STILL: [&str; 12] = [
    "description",
    "core.kind",
    "core.signature",
    "memory.size",
    // They say which times go with the parts, and what the other keys may be.
    "memory.kind",
    "memory.controller",
    // `a_p6_load_has_a_latency` shows it.
    "clocks.load",
    "board.kind",
    "board.control",
    "cache.l2.place",
    "cache.*.line",
    "cache.*.replacement",
];

/// The keys of a machine file.
fn keys_of(kind: &str) -> Vec<String> {
    let file = format!("{}/../machines/{kind}.toml", env!("CARGO_MANIFEST_DIR"));
    let (mut table, mut keys) = (String::new(), Vec::new());
    for line in std::fs::read_to_string(file).unwrap().lines() {
        if let Some(header) = line.strip_prefix('[') {
            table = format!("{}.", header.trim_end_matches(']'));
        } else if let Some((key, _)) = line.split_once(" = ") {
            keys.push(format!("{table}{}", key.trim()));
        }
    }
    // The table of inputs says of keys how far they are known, and moves nothing.
    keys.retain(|key| !key.starts_with("inputs."));
    keys
}

/// A key's name without which cache it is of, where all are alike.
fn is_still(kind: &str, key: &str) -> bool {
    let last = key.rsplit('.').next().unwrap();
    let alike = format!("cache.*.{last}");
    // A cache that is written through writes no line in a burst, and one transaction at a time overlaps with none.
    let i486 = ["cache.l2.allocate", "cache.l2.copy-back", "memory.overlap"];
    kind == "i486dx-50" && i486.contains(&key)
        || STILL.contains(&key)
        || key.starts_with("cache.") && STILL.contains(&&*alike)
}

/// Every key of a machine file moves the counters of a workload, but for [`STILL`].
#[test]
fn every_key_moves_the_clock() {
    for (kind, keys) in [
        (
            "i486dx-50",
            &[
                "tlb.unified.entries=8",
                "tlb.unified.ways=1",
                "cache.store-queue=0",
                "cache.unified.size=1024",
                "cache.unified.ways=1",
                "cache.unified.forward=line",
                "cache.l2.size=4096",
                "cache.l2.ways=1",
                "cache.l2.first-beat=5",
                "cache.l2.next-beat=3",
                "cache.l2.policy=write-back",
                "cache.l2.look-up=2",
                "bus.core-to-bus=2.0",
                "bus.width=8",
                "memory.width=4",
                "bus.return-path=1",
                "bus.turnaround=2",
            ][..],
        ),
        (
            "p6-200",
            &[
                "tlb.data.entries=8",
                "tlb.data.ways=1",
                "cache.data.size=1024",
                "cache.data.ways=1",
                "cache.data.forward=line",
                "cache.l2.size=8192",
                "cache.l2.ways=1",
                "cache.l2.first-beat=9",
                "cache.l2.next-beat=5",
                "cache.l2.miss=9",
                "bus.depth=1",
                "bus.core-to-bus=2.0",
                "bus.width=4",
                "memory.width=16",
                "memory.overlap=false",
                "bus.return-path=0",
                "bus.turnaround=40",
                "branch.entries=1",
                "branch.mispredict=20",
                "cache.store-queue=0",
            ][..],
        ),
    ] {
        let common = [
            "walk.cycles=20",
            "walk.first-update=30",
            // More than what a posted write hides.
            "walk.next-update=301",
            "bus.request=3",
            "memory.access=100",
            "memory.column-access=24",
            "memory.page-cycle=90",
            "memory.precharge=100",
            "memory.cycle=400",
            "memory.banks=1",
            "memory.row=2048",
            "memory.page-mode=closed",
            "memory.read-delay=9",
            "memory.write-delay=9",
            "memory.refresh-interval=3000",
            "memory.refresh-length=1000",
            "memory.write-buffer=0",
            "bus.device=77",
            "bus.port=55",
            "clocks.interrupt-inner=300",
            "clocks.interrupt-same=301",
            "clocks.return-outer=302",
            "clocks.return-same=303",
            "clocks.far-call=305",
            "clocks.gate-same=306",
            "clocks.gate-inner=307",
            "clocks.far-return-same=308",
            "clocks.far-return-outer=309",
            "clocks.far-jump=310",
            "clocks.load-segment=311",
            "clocks.write-cr3=312",
            "clocks.write-cr=313",
            "clocks.read-cr=314",
            "clocks.invalidate-page=315",
            "clocks.load-table=316",
            "clocks.load-local=317",
            "clocks.load-task=318",
            "clocks.lock=19",
            "clocks.write-back=320",
            "clocks.misaligned=21",
        ];
        let plain = workload(kind, None);
        let still: Vec<_> = (keys.iter().chain(&common))
            .filter(|key| workload(kind, Some(key)) == plain)
            .collect();
        assert!(still.is_empty(), "{kind}: {still:?} move nothing");
        let ticks = ["core.clock=40000000", "clocks.acknowledge=99"];
        let plain = interrupted(kind, &[]);
        for key in ticks {
            assert_ne!(
                interrupted(kind, &[key]),
                plain,
                "{kind}: {key} moves nothing"
            );
        }
        let code = [
            "tlb.instruction.entries=8",
            "tlb.instruction.ways=1",
            "tlb.instruction-large.entries=1 tlb.instruction-large.ways=1",
            "tlb.instruction-large.ways=1",
            "tlb.data-large.entries=4",
            "tlb.data-large.ways=1",
            "cache.instruction.size=1024",
            "cache.instruction.ways=1",
            "cache.instruction.forward=line",
        ];
        let p6 = kind == "p6-200";
        if p6 {
            let plain = wide_code(&[]);
            for key in code {
                let settings: Vec<&str> = key.split(' ').collect();
                assert_ne!(wide_code(&settings), plain, "{key} moves nothing");
            }
        }
        let messages = ["board.apic-clock=1000000", "bus.address-only=9"];
        if p6 {
            let outcome = |settings: &[&str]| {
                let mut bench = several::bench(2, settings);
                bench.run(1_000_000);
                format!(
                    "{:?} {:?}",
                    bench.machine.instant(),
                    bench.machine.counters()
                )
            };
            let plain = outcome(&[]);
            for key in messages {
                assert_ne!(outcome(&[key]), plain, "{key} moves nothing");
            }
        }
        let window = ["window.entries=1", "window.misses=1"];
        if p6 {
            // Loads of two lines, and an end that waits for both: mov ecx, cr0.
            let code = [0x03, 0x46, 0, 0x03, 0x46, 32, 0x0f, 0x20, 0xc1];
            let time = |settings: &[&str]| cold(&self::config("p6-167", settings), &code, 3);
            let plain = time(&[]);
            for key in window {
                assert_ne!(time(&[key]), plain, "{key} moves nothing");
            }
        }
        let mut moved: Vec<&str> = keys.iter().chain(&common).chain(&ticks).copied().collect();
        if p6 {
            moved.extend(code.iter().chain(&messages).chain(&window));
        }
        for key in keys_of(kind) {
            let named = moved
                .iter()
                .any(|setting| setting.starts_with(&format!("{key}=")));
            assert!(
                named || is_still(kind, &key),
                "{kind}: nothing is said of {key}"
            );
        }
    }
}

/// Cycles of `code`, which loads from the lines at DATA on, on a P6 whose memory holds none of them in a cache. ESI and
/// EDI point to DATA, where each line begins with the address of the next.
fn cold_loads(settings: &[&str], code: &[u8], instructions: u64) -> u64 {
    cold(
        &config_without_window("p6-167", settings),
        code,
        instructions,
    )
}

fn cold(config: &Config, code: &[u8], instructions: u64) -> u64 {
    let mut bench = Bench::with(config, code);
    for line in 0..64 {
        bench.put_word(DATA + 32 * line, DATA + 32 * line + 32);
    }
    let mut last = 0;
    for _ in 0..2 {
        // The second pass has its code in the I-cache and its data nowhere.
        bench.processor().memory.data.invalidate_all();
        if let Some(l2) = &mut bench.processor().memory.uncore.l2 {
            l2.cache.invalidate_all();
        }
        bench.registers().eip = CODE;
        bench.registers().gpr = [0; 16];
        bench.registers().gpr[6] = DATA;
        bench.registers().gpr[7] = DATA;
        bench.processor().modes_changed();
        let before = bench.machine.instant().cycles;
        bench.run(instructions);
        last = bench.machine.instant().cycles - before;
    }
    last
}

/// Independent loads' lines are under way at the same time, as many as the window, the core and the bus allow.
#[test]
fn independent_misses_overlap_and_dependent_ones_do_not() {
    // add eax, [esi + 32 n]; and a use of ESI as an address at the end, which nothing waits for.
    let apart: Vec<u8> = (0..4).flat_map(|n| [0x03, 0x46, 32 * n]).collect();
    // mov esi, [esi]
    let chain = [0x8b, 0x36].repeat(4);
    // The same loads with 48 additions between them, more than wait in the window.
    let far: Vec<u8> = (0..4)
        .flat_map(|n| [&[0x03, 0x46, 32 * n][..], &[0x01, 0xd8].repeat(48)].concat())
        .collect();
    // The last instruction waits for all loads: mov ecx, cr0.
    let ends = |code: &[u8]| [code, &[0x0f, 0x20, 0xc1]].concat();
    let time = |settings: &[&str], code: &[u8]| {
        let instructions = match code.len() {
            12 => 5,
            8 => 5,
            _ => 4 * 49 + 1,
        };
        cold_loads(settings, &ends(code), instructions)
    };
    let (one, two, four) = (
        "window={ entries = 40, misses = 1 }",
        "window={ entries = 40, misses = 2 }",
        super::bench::WINDOW,
    );
    // Without a window, and with one line at a time, loads come one after another.
    let alone = time(&[], &apart);
    let line = (alone - cold_loads(&[], &ends(&apart[..3]), 2)) / 3;
    assert!(line > 20, "{alone} {line}");
    let single = time(&[one, "bus.depth=8"], &apart);
    assert!(single.abs_diff(alone) < 12, "{single} {alone}");
    // On a bus with one transaction at a time, what is around the transactions overlaps.
    let shallow = time(&[four, "bus.depth=1"], &apart);
    let deep = time(&[four, "bus.depth=8"], &apart);
    let pair = time(&[two, "bus.depth=8"], &apart);
    assert!(deep <= pair && pair < alone, "{deep} {pair} {alone}");
    let single_shallow = time(&["bus.depth=1"], &apart);
    assert!(
        deep <= shallow && shallow <= single_shallow,
        "{deep} {shallow} {single_shallow}"
    );
    // Each needs the address that the one before loads.
    let chained = time(&[four, "bus.depth=8"], &chain);
    assert!(chained.abs_diff(alone) < 12, "{chained} {alone}");
    // The window is full before the next load.
    let apart_far = time(&[four, "bus.depth=8"], &far);
    assert!(apart_far > 4 * line, "{apart_far} {line}");
}

/// What a load does not need runs meanwhile, up to the entries of the window.
#[test]
fn later_instructions_run_under_a_miss() {
    let time = |settings: &[&str], additions: usize| {
        // add eax, [esi]; add ebx, ecx ...; mov ecx, cr0
        let code = [
            &[0x03, 0x06][..],
            &[0x01, 0xcb].repeat(additions),
            &[0x0f, 0x20, 0xc1],
        ]
        .concat();
        cold_loads(settings, &code, 2 + additions as u64)
    };
    let saved = |additions| time(&[], additions) - time(&[super::bench::WINDOW], additions);
    // 30 additions take 10 cycles, all of them under the miss. 40 wait behind the load; what is left comes after it.
    assert_eq!(saved(0), 0);
    assert_eq!(saved(30), 10);
    assert!((13..=14).contains(&saved(70)), "{}", saved(70));
}
