//! Machines and programs for the tests.

use std::path::{Path, PathBuf};

use pagewalk_machine::board::Console;
use pagewalk_machine::config::Override;
use pagewalk_machine::riscv::Config;
use pagewalk_machine::riscv::session::{Given, Session};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The machine file `name`, changed.
pub fn config(name: &str, settings: &[&str]) -> Config {
    let path = root().join(format!("machines/{name}.toml"));
    let settings: Vec<_> = settings
        .iter()
        .map(|text| Override::parse(text).unwrap())
        .collect();
    Config::from_file(&path, &settings).unwrap()
}

/// A bare machine with an ELF file, which compiles code at its first sight.
pub fn session(config: &Config, elf: &[u8], name: &str) -> Session {
    let given = (Given::default(), Console::memory());
    let mut session = Session::with_riscv_kernel(config, (elf, name), &given.0, given.1).unwrap();
    session.set_compiler(Some(1));
    session
}

/// An ELF file with one segment of RAM, `code` at its beginning, where it begins to run.
pub fn elf(code: &[u32]) -> Vec<u8> {
    const START: u64 = 0x8000_0000;
    let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    for half in [2_u16, 243] {
        file.extend(half.to_le_bytes());
    }
    file.extend(1_u32.to_le_bytes());
    for quad in [START, 64, 0] {
        file.extend(quad.to_le_bytes());
    }
    file.extend(0_u32.to_le_bytes());
    for half in [64_u16, 56, 1, 64, 0, 0] {
        file.extend(half.to_le_bytes());
    }
    for word in [1_u32, 7] {
        file.extend(word.to_le_bytes());
    }
    for quad in [
        0x78,
        START,
        START,
        bytes.len() as u64,
        bytes.len() as u64 + 0x1000,
        8,
    ] {
        file.extend(quad.to_le_bytes());
    }
    file.extend(bytes);
    file
}
