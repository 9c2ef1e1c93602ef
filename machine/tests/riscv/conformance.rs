//! riscv-tests, built outside of this tree: `PAGEWALK_RISCV_TESTS` names the folder of the built programs. Without it
//! nothing is tested, and the test says so.

use std::path::Path;

use object::{Object as _, ObjectSymbol as _};
use pagewalk_machine::computer::{Limits, Stop};
use pagewalk_machine::riscv::Config;

use super::support::{config, session};

const MOST: u64 = 3_000_000;
const STEP: u64 = 20_000;

/// Runs a program until it writes its result to `tohost`: 1 if all went well. Also gives the counters.
fn result(config: &Config, path: &Path, oracle: bool) -> (Option<u64>, Vec<(String, u64)>) {
    let elf = std::fs::read(path).unwrap();
    let file = object::File::parse(&*elf).unwrap();
    let symbol = file
        .symbols()
        .find(|symbol| symbol.name() == Ok("tohost"))
        .expect("tohost");
    let mut session = session(config, &elf, &path.display().to_string());
    session.set_oracle(oracle);
    for instructions in (STEP..MOST).step_by(STEP as usize) {
        let stop = session.run(Limits {
            instructions,
            cycles: u64::MAX,
        });
        let ram = &session.machine().uncore().ram;
        let at = ram.at(symbol.address(), 8).expect("tohost is in RAM");
        let told = ram.get(at).map_or(0, u64::from_le_bytes);
        // Output of characters, which some tests make, has a device's number above.
        if told != 0 {
            return (Some(told), session.counters());
        }
        if stop != Stop::Limit {
            break;
        }
    }
    (None, session.counters())
}

#[test]
fn riscv_tests_pass() {
    let Some(folder) = std::env::var_os("PAGEWALK_RISCV_TESTS") else {
        println!("PAGEWALK_RISCV_TESTS is not set: nothing was tested");
        return;
    };
    let mut programs: Vec<_> = (std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    programs.sort();
    assert!(!programs.is_empty());
    let mut failed = Vec::new();
    for path in &programs {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // Its accesses that are not aligned are done by hardware, or else by a handler that it has not.
        let settings: &[&str] = if name.ends_with("ma_data") {
            &["core.misaligned=\"hardware\""]
        } else {
            &[]
        };
        let config = config("u74-1500", settings);
        let (told, counters) = result(&config, path, false);
        if told != Some(1) {
            failed.push(format!("{name}: {told:?}"));
        } else if result(&config, path, true).1 != counters {
            failed.push(format!("{name}: the oracle counts differently"));
        }
    }
    println!("{} programs, {} failed", programs.len(), failed.len());
    assert!(failed.is_empty(), "{failed:#?}");
}
