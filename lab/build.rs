//! Names the simulator by what it was built from, so that results of different simulators are never mixed.

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("..");
    let mut files = vec![root.join("machine/Cargo.toml"), root.join("Cargo.lock")];
    sources(&root.join("machine/src"), &mut files)?;
    files.sort();
    // Fixed keys: the same sources give the same name on any host.
    let mut hasher = DefaultHasher::new();
    for file in &files {
        println!("cargo:rerun-if-changed={}", file.display());
        hasher.write(
            file.strip_prefix(&root)
                .unwrap_or(file)
                .as_os_str()
                .as_encoded_bytes(),
        );
        hasher.write(&fs::read(file)?);
    }
    println!(
        "cargo:rerun-if-changed={}",
        root.join("machine/src").display()
    );
    println!("cargo:rustc-env=PAGEWALK_SOURCES={:016x}", hasher.finish());
    Ok(())
}
