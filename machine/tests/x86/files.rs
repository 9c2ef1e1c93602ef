//! Machine files and ELF files that do not go together.

use pagewalk_machine::board::Console;
use pagewalk_machine::config::{MachineConfig, Override};
use pagewalk_machine::loader::ElfImage;
use pagewalk_machine::x86::Config;
use pagewalk_machine::x86::session::Session;

use super::bench::config;

/// Why the machine with this setting is refused.
fn refusal(name: &str, setting: &str) -> String {
    let file = format!("{}/../machines/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let setting = Override::parse(setting).unwrap();
    let error = Config::from_file(file.as_ref(), &[setting]).unwrap_err();
    error.to_string()
}

#[test]
fn impossible_machines_are_refused_by_name() {
    for (name, setting, wanted) in [
        ("i486dx-50", "processors=2", "no local APIC"),
        ("i486dx-50", "tlb.unified.ways=3", "`tlb.unified.ways` is 3"),
        (
            "i486dx-50",
            "tlb.data.entries=64",
            "`tlb.data` does not go with core.kind \"i486\", only with \"p6\"",
        ),
        (
            "i486dx-50",
            "branch.entries=64",
            "`branch` does not go with core.kind \"i486\", only with \"p6\"",
        ),
        (
            "i486dx-50",
            "window.entries=40",
            "`window` does not go with core.kind \"i486\", only with \"p6\"",
        ),
        (
            "i486dx-50",
            "cache.l3.size=65536",
            "`cache.l3` does not go with core.kind \"i486\", only with \"p6\"",
        ),
        (
            "p6-200",
            "cache.unified.size=8192",
            "`cache.unified` does not go with core.kind \"p6\", only with \"i486\"",
        ),
        ("i486dx-50", "core.kind=p6", "`board.apic-clock` is missing"),
        ("i486dx-50", "core.kind=i586", "unknown name `i586`"),
        ("i486dx-50", "cache.l2.place=in-line", "cache.l2"),
        (
            "i486dx-50",
            "cache.unified.line=64",
            "allowed is cache.unified.line, which is 64",
        ),
        ("i486dx-50", "clocks.interrupt=1", "unknown key `interrupt`"),
        ("i486dx-50", "bus.core-to-bus=0.5", "multiples of 0.5"),
        ("i486dx-50", "bus.address-only=3", "only with \"p6\""),
        ("i486dx-50", "memory.size=4096", "`memory.size`"),
        ("i486dx-50", "memory.size=0x2000001", "multiples of 4096"),
        ("p6-200", "processors=5", "`processors` is 5"),
        (
            "p6-200",
            "cache.l2.place=back-side",
            "can only be \"in-line\"",
        ),
        ("p6-200", "cache.instruction.line=16", "cache.data.line"),
        ("p6-200", "branch.entries=100", "powers of two"),
        (
            "p6-200",
            "tlb.data-large.replacement=clock",
            "`tlb.data-large.replacement` is \"clock\": allowed are lru",
        ),
        (
            "i486dx-50",
            "tlb.l2.replacement=plru",
            "`tlb.l2.replacement` is \"plru\"",
        ),
        ("i486dx-50", "tlb.l2.ways=3", "`tlb.l2.ways` is 3"),
        ("p6-200", "tlb.l2.hit=1001", "`tlb.l2.hit`"),
        (
            "p6-200",
            "walk.walker=hash",
            "`walk.walker` is \"hash\": allowed are tables, walk-cache",
        ),
        (
            "p6-200",
            "walk.options.entries=4",
            "has no option \"entries\"",
        ),
        ("p6-200", "walk.start=1", "unknown key `start`"),
        ("p6-200", "bus.width=64", "bus.width"),
        (
            "p6-200",
            "cache.data.blocked=true",
            "`cache.data.blocked` is a key of the 603's D-cache",
        ),
        (
            "i486dx-50",
            "cache.unified.blocked=false",
            "`cache.unified.blocked` is a key of the 603's D-cache",
        ),
    ] {
        let text = refusal(name, setting);
        assert!(text.contains(wanted), "{setting}: {text}");
    }
}

#[test]
fn what_is_no_value_of_a_key_is_named() {
    let path = format!("{}/../machines/p6-200.toml", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::read_to_string(path).unwrap();
    for (key, value, wanted) in [
        (
            "replacement = \"pseudo-lru\"",
            "replacement = 1",
            "is not a word in quotes",
        ),
        (
            "place = \"in-line\"",
            "place = {}",
            "is not a word in quotes",
        ),
        (
            "kind = \"pc\"",
            "kind = [\"pc\"]",
            "is not a word in quotes",
        ),
        ("kind = \"p6\"", "kind = \"i386\"", "`i386`, expected"),
        ("kind = \"p6\"", "model = \"p6\"", "unknown key `model`"),
        ("ways = 4", "ways = 99999999999999999999", "whole number"),
        ("clock = 200000000", "clock = nan", "whole number"),
    ] {
        let text = file.replacen(key, value, 1);
        assert_ne!(text, file, "{key}");
        assert!(Config::is_of(&text), "{value}");
        let error = Config::from_toml(&text, "m.toml", &[])
            .unwrap_err()
            .to_string();
        assert!(error.contains(wanted), "{value}: {error}");
    }
}

#[test]
fn each_machine_file_is_whole() {
    for (name, processors) in [
        ("i486dx-50", 1),
        ("p6-167", 1),
        ("p6-200", 1),
        ("p6-200x2", 2),
        ("p6-200x4", 4),
    ] {
        assert_eq!(config(name, &[]).processors, processors);
        let file = format!("{}/../machines/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        assert!(Config::is_of_file(file.as_ref()).unwrap());
        // A PowerPC's reader names what it does not know.
        let error = MachineConfig::from_file(file.as_ref(), &[]).unwrap_err();
        assert!(error.to_string().contains("unknown"), "{error}");
    }
}

/// The first bytes of an ELF file.
fn elf(class: u8, data: u8, machine: u16) -> Vec<u8> {
    let mut bytes = vec![0x7f, b'E', b'L', b'F', class, data, 1];
    bytes.resize(52, 0);
    let machine = if data == 1 {
        machine.to_le_bytes()
    } else {
        machine.to_be_bytes()
    };
    bytes[18..20].copy_from_slice(&machine);
    bytes
}

#[test]
fn an_elf_of_the_other_architecture_is_named() {
    let i386 = elf(1, 1, 3);
    let powerpc = elf(1, 2, 20);
    let text = ElfImage::parse(&i386, "prog").unwrap_err().to_string();
    assert!(
        text.contains("prog: is for an i386: choose an x86 machine"),
        "{text}"
    );
    let text = ElfImage::parse_i386(&powerpc, "prog")
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("is for a PowerPC: choose a PowerPC machine"),
        "{text}"
    );
    for (bytes, wanted) in [
        (elf(2, 1, 62), "is a 64-bit ELF file"),
        (elf(1, 2, 8), "is a big-endian ELF file"),
        (elf(1, 1, 40), "is for ELF machine 40, not i386 (3)"),
        (b"MZ".to_vec(), "is not an ELF file"),
    ] {
        let text = ElfImage::parse_i386(&bytes, "prog")
            .unwrap_err()
            .to_string();
        assert!(text.contains(wanted), "{text}");
        assert!(
            text.contains("allowed is a static ELF executable for the i386"),
            "{text}"
        );
    }
}

/// An i386 ELF with one segment at `physical`, whose content is `text`.
pub fn executable(physical: u32, text: &[u8]) -> Vec<u8> {
    let mut bytes = elf(1, 1, 3);
    let put = |bytes: &mut Vec<u8>, at: usize, word: u32| {
        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    };
    bytes[16] = 2;
    put(&mut bytes, 20, 1);
    put(&mut bytes, 24, physical);
    put(&mut bytes, 28, 52);
    bytes[40] = 52;
    bytes[42] = 32;
    bytes[44] = 1;
    bytes.resize(84, 0);
    let size = text.len() as u32;
    for (n, word) in [1, 84, physical, physical, size, size, 7, 4]
        .into_iter()
        .enumerate()
    {
        put(&mut bytes, 52 + 4 * n, word);
    }
    bytes.extend(text);
    bytes
}

/// A Multiboot header.
pub fn header(flags: u32) -> Vec<u8> {
    let magic = 0x1bad_b002_u32;
    let sum = 0u32.wrapping_sub(magic.wrapping_add(flags));
    [magic, flags, sum]
        .iter()
        .flat_map(|w| w.to_le_bytes())
        .collect()
}

fn session(kernel: &[u8], initramfs: Option<&[u8]>, arguments: &str) -> Result<Session, String> {
    let config = config("i486dx-50", &[]);
    let given = (kernel, "kernel");
    Session::with_kernel(
        &config,
        given,
        None,
        initramfs,
        arguments,
        Console::memory(),
    )
    .map_err(|error| error.to_string())
}

#[test]
fn kernels_that_cannot_be_loaded_are_refused() {
    let good = [header(0), vec![0xf4]].concat();
    assert!(session(&executable(0x10_0000, &good), None, "").is_ok());
    let long = "x".repeat(5000);
    let big = vec![0; 2 << 20];
    for (kernel, initramfs, arguments, wanted) in [
        (
            executable(0x10_0000, &[0xf4]),
            None,
            "",
            "no Multiboot header",
        ),
        (
            executable(0x1000, &good),
            None,
            "",
            "where the boot information goes",
        ),
        (executable(0x40_0000, &good), None, "", "does not fit RAM"),
        (
            executable(0x10_0000, &good),
            None,
            &long[..],
            "the command line has 5000 bytes",
        ),
        (
            executable(0x10_0000, &good),
            Some(&big[..]),
            "",
            "the initramfs of 2097152 bytes",
        ),
    ] {
        let text = session(&kernel, initramfs, arguments).err().unwrap();
        assert!(text.contains(wanted), "{text}");
    }
}

#[test]
fn a_kernel_finds_what_multiboot_hands_over() {
    use pagewalk_machine::powerpc::machine::Limits;
    // hlt
    let text = [header(3), vec![0xf4]].concat();
    let mut kernel = executable(0x10_0000, &text);
    kernel[24..28].copy_from_slice(&0x10_000c_u32.to_le_bytes());
    let mut session = session(&kernel, Some(b"archive"), "one two").unwrap();
    let registers = session.machine().processor().registers.clone();
    assert_eq!(registers.gpr[0], 0x2bad_b002);
    assert_eq!(registers.eip, 0x10_000c);
    let word = |at: u32| session.machine().processor().ram_word(at).unwrap();
    let info = registers.gpr[3];
    assert_eq!(
        word(info) & 0x4d,
        0x4d,
        "memory, command line, modules, map"
    );
    assert_eq!((word(info + 4), word(info + 8)), (640, 1024));
    assert_eq!(word(word(info + 16)), u32::from_le_bytes(*b"one "));
    assert_eq!(word(info + 20), 1);
    let module = word(info + 24);
    assert_eq!(word(word(module)), u32::from_le_bytes(*b"arch"));
    assert_eq!(word(module + 4) - word(module), 7);
    let stop = session.run(Limits::NONE);
    let text = session.explain(&stop);
    assert!(text.contains("no interrupt can wake it"), "{text}");
    assert!(text.contains("esp 00000000"), "{text}");
}
