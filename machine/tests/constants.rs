//! What a TLB miss costs on the machines of the OSDI 1999 paper, as `machine/guest/constants.S` measures it.

use std::path::{Path, PathBuf};
use std::process::Command;

use pagewalk_machine::config::{MachineConfig, Override};

#[path = "../src/constants.rs"]
#[allow(dead_code, reason = "the command prints the table")]
mod constants;

use constants::{ConstantsError, Figure, Nature};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn program() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let elf = folder.path().join("constants.elf");
    let status = Command::new("powerpc-linux-gnu-gcc")
        .args(["-mcpu=603", "-nostdlib", "-static"])
        .arg("-Wl,-N,-Ttext=0,-e,start,--build-id=none,--no-warn-rwx-segments")
        .arg("-o")
        .arg(&elf)
        .arg(root().join("machine/guest/constants.S"))
        .status()
        .expect("powerpc-linux-gnu-gcc is installed by ./bootstrap run");
    assert!(status.success());
    std::fs::read(elf).unwrap()
}

fn figures(machine: &str, settings: &[&str]) -> Vec<Figure> {
    let settings: Vec<Override> = settings
        .iter()
        .map(|text| Override::parse(text).unwrap())
        .collect();
    let file = root().join(format!("machines/{machine}.toml"));
    let config = MachineConfig::from_file(&file, &settings).unwrap();
    constants::measure(config, &program(), "constants.elf").unwrap()
}

fn measured(figures: &[Figure]) -> Vec<u64> {
    figures.iter().map(|figure| figure.measured).collect()
}

#[test]
fn a_603_takes_32_cycles_to_invoke_and_leave_its_miss_handler() {
    for machine in ["ppc603-133", "ppc603-180"] {
        let figures = figures(machine, &[]);
        assert_eq!(figures[0].measured, 32, "{machine}: {figures:?}");
        assert_eq!(figures[0].nature, Nature::Input);
    }
}

/// Search in memory, search in the D-cache, the difference, its accesses, the interrupt, the three counts, then the
/// search in the L2.
#[test]
fn a_604_searches_its_hash_table_as_slowly_as_memory_and_cache_are() {
    assert_eq!(
        measured(&figures("ppc604-133", &[])),
        [220, 52, 168, 16, 91, 16, 34, 6, 132]
    );
    assert_eq!(
        measured(&figures("ppc604-185", &[])),
        [270, 52, 218, 16, 91, 16, 34, 6, 114]
    );
    assert_eq!(
        measured(&figures("ppc604-200", &[])),
        [234, 52, 182, 16, 91, 16, 34, 6, 114]
    );
}

/// Four lines from the L2 of the Power Macintosh, whose first beat comes in the clock after the address.
#[test]
fn a_search_of_a_table_in_the_l2_lies_between_the_other_two() {
    let figures = figures("ppc604-132", &[]);
    let found = |name: &str| {
        let found = figures.iter().find(|figure| figure.name.contains(name));
        found.unwrap_or_else(|| panic!("{name}")).measured
    };
    let (cache, l2, memory) = (
        found("in the D-cache"),
        found("in the L2"),
        found("table in memory"),
    );
    assert!(cache < l2 && l2 < memory, "{cache} {l2} {memory}");
}

#[test]
fn results_follow_their_keys_and_inputs_are_their_keys() {
    let slower = figures(
        "ppc604-133",
        &["walk.access=4", "exception.tlb-miss-entry=50"],
    );
    assert_eq!(slower[1].measured, 52 + 16);
    assert_eq!(slower[4].measured, 50);
    let input = figures("ppc603-133", &["exception.leave=20"]);
    assert_eq!(input[0].measured, 41);
}

#[test]
fn another_program_is_refused() {
    let file = root().join("machines/ppc604-133.toml");
    let config = MachineConfig::from_file(&file, &[]).unwrap();
    let mut image = program();
    let name = image
        .windows(8)
        .position(|bytes| bytes == b"results\0")
        .unwrap();
    image[name] = b'R';
    let error = constants::measure(config, &image, "other.elf").unwrap_err();
    assert!(matches!(error, ConstantsError::NoSymbol { .. }));
    assert!(error.to_string().contains("other.elf"));
}
