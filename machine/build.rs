//! A number for the sources of this crate, so that a snapshot is read by the version that wrote it.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=src");
    let version = add(0xcbf2_9ce4_8422_2325, Path::new("src"));
    println!("cargo:rustc-env=PAGEWALK_VERSION={version:016x}");
}

/// FNV-1a over the files below `path`, in the order of their names.
fn add(sum: u64, path: &Path) -> u64 {
    if !path.is_dir() {
        let text = std::fs::read(path).expect("a source file can be read");
        return text.iter().fold(sum, |sum, &byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
    }
    let entries = std::fs::read_dir(path).expect("the sources can be listed");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("the sources can be listed").path())
        .collect();
    paths.sort();
    paths.iter().fold(sum, |sum, path| add(sum, path))
}
