//! Images: which are accepted and which refused, and the memory that the kernel finds.

use std::path::{Path, PathBuf};
use std::process::Command;

use pagewalk_machine::config::{MachineConfig, Override};
use pagewalk_machine::loader::{ElfImage, LoadError, cpio_files};
use pagewalk_machine::powerpc::loader::{Boot, Given, Protocol, Target, device_tree};

const LINKER_SCRIPT: &str = "ENTRY(_start) SECTIONS {
  . = 0x4000; .text : { *(.text)
    __cause_copy_start = .; *(.text.cause.copy) __cause_copy_end = .;
    __cause_clear_start = .; *(.text.cause.clear) __cause_clear_end = .; }
  __cause_copy.first_start = 0x4000; __cause_copy.first_end = 0x4004;
  .bss : { *(.bss) } }";

const SOURCE: &str = "
  .globl _start
  .type _start, @function
_start: nop
  nop
  .size _start, . - _start
  .section .text.cause.copy, \"ax\"
  .type copy_page, @function
copy_page: blr
  .size copy_page, . - copy_page
  .bss
  .space 0x100
";

fn config(settings: &[&str]) -> MachineConfig {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../machines/ppc604-185.toml");
    let settings: Vec<_> = settings
        .iter()
        .map(|text| Override::parse(text).unwrap())
        .collect();
    MachineConfig::from_file(&path, &settings).unwrap()
}

fn run(directory: &Path, program: &str, arguments: &[&str]) {
    let status = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .status();
    assert!(
        status
            .unwrap_or_else(|error| panic!("{program}: {error}"))
            .success(),
        "{program}"
    );
}

/// Kernels as they are packed for distribution are refused by what they are.
#[test]
fn packed_kernels_are_refused_with_advice() {
    for (bytes, said) in [
        (
            b"\x27\x05\x19\x56....".as_slice(),
            "is a uImage: give the vmlinux inside",
        ),
        (b"\x1f\x8b......", "is compressed: unpack it first"),
        (b"\xfd7zXZ\0..", "is compressed: unpack it first"),
        (b"\xd0\x0d\xfe\xed....", "is a device tree or a FIT image"),
        (b"\x7fELF\x02\x02\x01\0", "is a 64-bit ELF file"),
        (b"\x7fELF\x01\x01\x01\0", "is a little-endian ELF file"),
    ] {
        let error = ElfImage::parse(bytes, "k")
            .expect_err("refused")
            .to_string();
        assert!(error.starts_with("k: ") && error.contains(said), "{error}");
    }
}

/// A Linux that was built for another board or core is refused before it runs into nothing.
#[test]
fn a_linux_for_another_machine_is_refused() {
    const BANNER: &str = "\0Linux version 6.1.0 (a@b)";
    let built = |text: &str| ElfImage::parse(&with_text(image(), text), "vmlinux").unwrap();
    let e83 = format!("{BANNER}\0MPC8313ERDB\0");
    let e8 = format!("{BANNER}\0analogue-and-micro,adder875\0");
    let several = format!("{BANNER}\0fsl,mpc8641hpcn\0MPC8313ERDB\0");
    let none = format!("{BANNER}\0fsl,mpc8544ds\0");
    let other = format!("{BANNER}\0MPC834xMDS\0");
    for (text, machine, board, said) in [
        (&e83, "ppc603-133", "mpc83xx", ""),
        (&several, "ppc604-185", "mpc86xx", ""),
        (&other, "ppc603-133", "mpc83xx", ""),
        (&e8, "mpc855t-48", "mpc8xx", ""),
        (
            &e83,
            "ppc603-133",
            "prep",
            "vmlinux: is Linux 6.1.0, which does not know board.kind = \"prep\"; board.kind = \"mpc83xx\" fits",
        ),
        (
            &e83,
            "ppc604-185",
            "mpc86xx",
            "board.kind = \"mpc83xx\" fits",
        ),
        (
            &e8,
            "ppc603-133",
            "mpc83xx",
            "is Linux 6.1.0, built for board.kind = \"mpc8xx\" and core.kind 8xx; this machine's core.kind is \"603e\"",
        ),
        (&e8, "ppc603-133", "mpc8xx", "core.kind is \"603e\""),
        (
            &e83,
            "mpc855t-48",
            "mpc8xx",
            "built for board.kind = \"mpc83xx\" and core.kind 603, 603e, 604, 604e and 750; this machine's core.kind is \"8xx\"",
        ),
        (
            &none,
            "ppc603-133",
            "mpc83xx",
            "which knows none of the boards that a machine can have: mpc83xx (MPC8313ERDB, ",
        ),
        (&none, "ppc603-133", "prep", ""),
        (&"no banner".to_owned(), "ppc603-133", "mpc83xx", ""),
        (
            &"Linux version unknown".to_owned(),
            "ppc603-133",
            "mpc83xx",
            "",
        ),
    ] {
        let kind = Override::parse(&format!("board.kind={board}")).unwrap();
        let config = MachineConfig::from_file(&machine_file(machine), &[kind]).unwrap();
        let boot = Boot::kernel(&config, &built(text), &Given::default());
        let message = boot.map_or_else(|error| error.to_string(), |_| String::new());
        assert_eq!(message.is_empty(), said.is_empty(), "{board} {message}");
        assert!(message.contains(said), "{message}");
    }
}

/// Linux of the years before device trees is told by strings that each has.
#[test]
fn an_old_linux_goes_with_its_board_and_protocol() {
    let built = |text: &str| ElfImage::parse(&with_text(image(), text), "vmlinux").unwrap();
    let e8 = "\0Linux version 2.4.31 (x)\0 8xx SIU  \0";
    let prep = "\0Linux version 2.2.14 (x)\0machine\t\t: PReP %s\n\0";
    let early = "\0Linux version 2.1.53 (x)\0machine\t\t: %s (sn %s)\n\0";
    let later = "\0Linux version 2.6.32 (x)\0 8xx SIU  \0fsl,mpc885ads\0";
    let own = "\0/isa/pagewalk\0";
    for (text, machine, board, protocol, said) in [
        (e8, "mpc855t-48", "fads", None, Ok("")),
        (
            e8,
            "mpc855t-48",
            "mpc8xx",
            None,
            Err(
                "is Linux 2.4.31, of the years before device trees, for board.kind = \"fads\"; this machine's is \"mpc8xx\"",
            ),
        ),
        (
            e8,
            "ppc603-133",
            "prep",
            None,
            Err(
                "built for board.kind = \"fads\" and core.kind 8xx; this machine's core.kind is \"603e\"",
            ),
        ),
        (
            prep,
            "ppc603-133",
            "prep",
            None,
            Ok(
                "vmlinux is Linux 2.2.14 for this board: --protocol residual-data\nvmlinux looks for devices: set board.empty-bus to \"ones\", or an empty address raises a machine check",
            ),
        ),
        (
            early,
            "ppc603-133",
            "prep",
            None,
            Ok(
                "vmlinux is Linux 2.1.53 for this board: --protocol residual-data\nvmlinux looks for devices: set board.empty-bus to \"ones\", or an empty address raises a machine check",
            ),
        ),
        (
            prep,
            "ppc603-133",
            "prep",
            Some(Protocol::DeviceTree),
            Err("reads residual data, not a device tree: give --protocol residual-data"),
        ),
        (
            prep,
            "mpc855t-48",
            "prep",
            None,
            Err("core.kind is \"8xx\""),
        ),
        (
            prep,
            "ppc603-133",
            "mpc83xx",
            None,
            Err("for board.kind = \"prep\""),
        ),
        (later, "mpc855t-48", "mpc8xx", None, Ok("")),
        (
            later,
            "mpc855t-48",
            "fads",
            None,
            Err("board.kind = \"mpc8xx\" fits"),
        ),
        (own, "ppc603-133", "prep", None, Ok("")),
        (
            own,
            "ppc603-133",
            "prep",
            Some(Protocol::ResidualData),
            Err("reads a device tree, not residual data: give --protocol device-tree"),
        ),
        (
            own,
            "mpc855t-48",
            "fads",
            None,
            Err(
                "reads a device tree, which board.kind = \"fads\" does not hand over; set board.kind",
            ),
        ),
    ] {
        let kind = Override::parse(&format!("board.kind={board}")).unwrap();
        let config = MachineConfig::from_file(&machine_file(machine), &[kind]).unwrap();
        let given = Given {
            protocol,
            ..Given::default()
        };
        let boot = Boot::kernel(&config, &built(text), &given);
        match (boot, said) {
            (Ok(boot), Ok(said)) => assert_eq!(boot.notes.join("\n"), said, "{text}"),
            (Err(error), Err(said)) => assert!(error.to_string().contains(said), "{error}"),
            (boot, said) => panic!(
                "{text} {board}: {said:?}, {:?}",
                boot.map(|boot| boot.notes)
            ),
        }
    }
    // Without symbols.
    let mut image = built(e8);
    image.labels.clear();
    let kind = Override::parse("board.kind=fads").unwrap();
    let config = MachineConfig::from_file(&machine_file("mpc855t-48"), &[kind]).unwrap();
    let boot = Boot::kernel(&config, &image, &Given::default()).unwrap();
    assert!(boot.notes[0].contains("has no symbols"), "{:?}", boot.notes);
}

/// The device tree is compatible with the board that the kernel knows, else with the first of its kind.
#[test]
fn the_tree_names_the_board_that_the_kernel_knows() {
    for (machine, kind, known, named) in [
        ("ppc603-133", "mpc83xx", "fsl,mpc837xmds", "fsl,mpc837xmds"),
        (
            "ppc604-133",
            "mpc86xx",
            "artesyn,MVME7100",
            "artesyn,MVME7100",
        ),
        ("mpc855t-48", "mpc8xx", "tqc,tqm8xx", "tqc,tqm8xx"),
        (
            "mpc855t-48",
            "mpc8xx",
            "none",
            "analogue-and-micro,adder875",
        ),
    ] {
        let text = format!("\0Linux version x\0{known}\0");
        let image = ElfImage::parse(&with_text(image(), &text), "vmlinux").unwrap();
        let kind = Override::parse(&format!("board.kind={kind}")).unwrap();
        let config = MachineConfig::from_file(&machine_file(machine), &[kind]).unwrap();
        let boot = Boot::kernel(&config, &image, &Given::default()).unwrap();
        let mut chunks = boot.chunks.iter();
        let tree = chunks.find(|chunk| chunk.physical == boot.structure);
        let tree = &tree.unwrap().bytes;
        let name = format!("{named}\0");
        let mut parts = tree.windows(name.len());
        assert!(parts.any(|part| part == name.as_bytes()), "{named}");
    }
}

fn machine_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../machines/{name}.toml"))
}

/// The image with `text` at its end, where its first segment now ends.
fn with_text(mut elf: Vec<u8>, text: &str) -> Vec<u8> {
    elf.extend_from_slice(text.as_bytes());
    let word = |bytes: &[u8], at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    let headers = word(&elf, 28) as usize;
    let load = (headers..)
        .step_by(32)
        .find(|&at| word(&elf, at) == 1)
        .unwrap();
    let size = elf.len() as u32 - word(&elf, load + 4);
    for at in [load + 16, load + 20] {
        elf[at..at + 4].copy_from_slice(&size.to_be_bytes());
    }
    elf
}

fn image() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    std::fs::write(path.join("a.s"), SOURCE).unwrap();
    std::fs::write(path.join("a.ld"), LINKER_SCRIPT).unwrap();
    run(path, "powerpc-linux-gnu-as", &["-o", "a.o", "a.s"]);
    run(
        path,
        "powerpc-linux-gnu-ld",
        &[
            "-z",
            "max-page-size=4096",
            "-T",
            "a.ld",
            "-o",
            "a.elf",
            "a.o",
        ],
    );
    std::fs::read(path.join("a.elf")).unwrap()
}

#[test]
fn an_executable_yields_segments_symbols_and_causes() {
    let image = ElfImage::parse(&image(), "a.elf").unwrap();
    assert_eq!(image.entry, 0x4000);
    assert_eq!(image.segments.len(), 1);
    let segment = &image.segments[0];
    assert_eq!((segment.physical, segment.data.len()), (0x4000, 12));
    assert!(segment.size >= 0x10c);
    assert_eq!(segment.data[..4], [0x60, 0, 0, 0]);
    assert_eq!(image.symbols.describe(0x4000), "_start");
    assert_eq!(image.symbols.describe(0x4004), "_start+0x4");
    assert_eq!(image.symbols.describe(0x4008), "copy_page");
    assert_eq!(image.symbols.describe(0x3ffc), "0x00003ffc");
    let end = image.segments[0].physical + image.segments[0].size;
    assert_eq!(
        image.symbols.describe(end),
        format!("{end:#010x}"),
        "a label reaches no further than its segment"
    );
    let causes: Vec<_> = image
        .causes
        .iter()
        .map(|range| (range.start, range.end, &range.name[..]))
        .collect();
    assert_eq!(
        causes,
        [(0x4000, 0x4004, "copy"), (0x4008, 0x400c, "copy")],
        "a cause may have several ranges; empty ones are left out"
    );
}

fn refusal(bytes: &[u8]) -> String {
    ElfImage::parse(bytes, "a.elf").unwrap_err().to_string()
}

#[test]
fn other_files_are_refused() {
    const ALLOWED: &str = "; allowed is a static ELF executable for 32-bit big-endian PowerPC";
    let good = image();
    assert_eq!(
        refusal(b"#!/bin/sh\n"),
        format!("a.elf: is not an ELF file{ALLOWED}")
    );
    assert_eq!(refusal(b""), format!("a.elf: is not an ELF file{ALLOWED}"));
    for (offset, value, message) in [
        (4, 2, "is a 64-bit ELF file"),
        (5, 1, "is a little-endian ELF file"),
        (5, 9, "has a damaged ELF header"),
        (19, 40, "is for ELF machine 40, not PowerPC (20)"),
        (17, 1, "is of ELF type 1, not an executable (2)"),
    ] {
        let mut bytes = good.clone();
        bytes[offset] = value;
        assert_eq!(refusal(&bytes), format!("a.elf: {message}{ALLOWED}"));
    }
    let mut disk = vec![0; 1024];
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    let wrapped = with_text(good.clone(), "\0Uncompressing Linux...\0");
    for (bytes, message) in [
        (
            &b"\x1f\x8b\x08"[..],
            "is compressed: unpack it first, with gunzip",
        ),
        (&b"\x01\xdf"[..], "is an XCOFF boot image"),
        (
            &disk[..],
            "is a disk or PReP boot image (zImage.prep): give the vmlinux",
        ),
        (
            &wrapped[..],
            "is a zImage, a boot loader around a compressed kernel: give the vmlinux",
        ),
    ] {
        assert!(refusal(bytes).contains(message), "{}", refusal(bytes));
    }
    for length in [7, 40, 60, 100] {
        assert!(matches!(
            ElfImage::parse(&good[..length], "a.elf"),
            Err(LoadError::NotExecutable { .. })
        ));
    }
}

#[test]
fn damaged_headers_never_panic() {
    let good = image();
    for offset in 0..good.len().min(0x100) {
        for value in [0, 1, 0x7f, 0xff] {
            let mut bytes = good.clone();
            bytes[offset] = value;
            if let Ok(image) = ElfImage::parse(&bytes, "a.elf") {
                let _ = Boot::program(&config(&[]), &image);
            }
        }
    }
}

#[test]
fn an_image_past_the_end_of_ram_is_refused() {
    let mut image = ElfImage::parse(&image(), "a.elf").unwrap();
    image.segments[0].physical = 0x01ff_fff0;
    let message = Boot::program(&config(&[]), &image).unwrap_err().to_string();
    assert!(
        message.starts_with("a.elf: segment 0x01fffff0..0x0200"),
        "{message}"
    );
    assert!(
        message.ends_with("does not fit RAM, 0..0x02000000 (memory.size)"),
        "{message}"
    );
}

#[test]
fn tree_and_initramfs_lie_at_the_top_of_ram() {
    let image = ElfImage::parse(&image(), "a.elf").unwrap();
    let initramfs = vec![7; 10_000];
    let given = Given {
        initramfs: Some(&initramfs),
        arguments: "quiet",
        ..Given::default()
    };
    let boot = Boot::kernel(&config(&[]), &image, &given).unwrap();
    assert_eq!(boot.structure % 4096, 0);
    assert_eq!(boot.structure, 0x01ff_f000);
    assert_eq!(boot.initramfs, Some(0x01ff_c000..0x01ff_c000 + 10_000));
    assert_eq!(boot.chunks.len(), 3);
    let large = config(&["memory.size=0x40000000"]);
    let boot = Boot::kernel(&large, &image, &Given::default()).unwrap();
    assert_eq!(boot.structure, 0x1fff_f000, "a kernel reaches 512 MB");
    let too_big = vec![0; 32 << 20];
    let given = Given {
        initramfs: Some(&too_big),
        ..Given::default()
    };
    let message = Boot::kernel(&config(&[]), &image, &given)
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("the initramfs of 33554432 bytes does not fit RAM of 0x2000000 bytes"),
        "{message}"
    );
}

fn source_of(tree: &[u8]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.dtb");
    std::fs::write(&path, tree).unwrap();
    let output = Command::new("dtc")
        .args(["-I", "dtb", "-O", "dts"])
        .arg(&path)
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_tree_tells_what_the_machine_is() {
    let tree = device_tree(
        &config(&[]),
        Target::Pagewalk,
        "init=/bin/x tlb.flush=lazy",
        Some(0x1000..0x2345),
    )
    .unwrap();
    let source = source_of(&tree);
    for line in [
        "clock-frequency = <0xb06e040>;",
        "timebase-frequency = <0xeb3d5b>;",
        "bus-frequency = <0x3acf56b>;",
        "d-cache-size = <0x8000>;",
        "i-cache-line-size = <0x20>;",
        "tlb-size = <0x80>;",
        "tlb-sets = <0x40>;",
        "reg = <0x00 0x2000000>;",
        "bootargs = \"init=/bin/x tlb.flush=lazy\";",
        "linux,initrd-start = <0x1000>;",
        "linux,initrd-end = <0x2345>;",
        "linux,stdout-path = \"/isa/serial@3f8\";",
        "compatible = \"ns16550\";",
        "compatible = \"chrp,iic\";",
        "compatible = \"pagewalk,control\";",
    ] {
        assert!(source.contains(line), "{line} in\n{source}");
    }
}

#[test]
fn the_tree_for_qemu_has_its_time_base_and_no_control_device() {
    let tree = device_tree(&config(&[]), Target::Qemu40p, "", None).unwrap();
    let source = source_of(&tree);
    assert!(
        source.contains("timebase-frequency = <0x5f5e100>;"),
        "{source}"
    );
    assert!(!source.contains("pagewalk,control"), "{source}");
    assert!(!source.contains("initrd"), "{source}");
    assert!(device_tree(&config(&[]), Target::Pagewalk, "a\0b", None).is_err());
}

#[test]
fn rom_images_fit_or_are_refused() {
    assert_eq!(Boot::rom(&[1, 2, 3], "r.bin").unwrap().entry, 0xfff0_0100);
    for size in [0, (1 << 20) + 1] {
        let message = Boot::rom(&vec![0; size], "r.bin").unwrap_err().to_string();
        assert_eq!(
            message,
            format!("r.bin: has {size} bytes; a ROM image has 1 to 1048576")
        );
    }
}

#[test]
fn an_archives_files_are_listed() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("bin")).unwrap();
    std::fs::write(directory.path().join("bin/a"), b"12345").unwrap();
    run(
        directory.path(),
        "sh",
        &[
            "-c",
            "find . | sort | cpio --quiet -o -H newc > ../$$.cpio && mv ../$$.cpio all",
        ],
    );
    let archive = std::fs::read(directory.path().join("all")).unwrap();
    let files = cpio_files(&archive);
    let found: Vec<_> = files.iter().map(|file| (file.path, file.data)).collect();
    assert!(found.contains(&("bin/a", b"12345")), "{found:?}");
    for length in 0..archive.len() {
        let _ = cpio_files(&archive[..length]);
    }
}
