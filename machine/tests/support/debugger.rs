//! A debugger that we did not write.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

/// gdb-multiarch attaches to the machine before its first instruction and does `commands`; what it said, and the
/// machine's status.
pub fn gdb(
    machine: &str,
    image: &[u8],
    architecture: &str,
    commands: &[String],
) -> (String, Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let kernel = folder.path().join("kernel");
    std::fs::write(&kernel, image).unwrap();
    let mut runner = Command::new(env!("CARGO_BIN_EXE_pagewalk-machine"))
        .arg("run")
        .arg("--machine")
        .arg(format!(
            "{}/../machines/{machine}.toml",
            env!("CARGO_MANIFEST_DIR")
        ))
        .arg("--kernel")
        .arg(&kernel)
        .args(["--gdb", "0", "--max-instructions", "1000000"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut messages = BufReader::new(runner.stderr.take().unwrap());
    messages.read_line(&mut line).unwrap();
    let port = line.trim().rsplit(' ').next().unwrap().to_owned();
    let mut gdb = Command::new("gdb-multiarch");
    gdb.args(["-nx", "-batch"]);
    gdb.args(["-ex", &format!("set architecture {architecture}")]);
    gdb.args(["-ex", &format!("target remote 127.0.0.1:{port}")]);
    for command in commands {
        gdb.args(["-ex", command]);
    }
    let output = gdb.output().expect("gdb-multiarch is installed");
    let status = runner.wait().unwrap().code();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (text + &String::from_utf8_lossy(&output.stderr), status)
}
