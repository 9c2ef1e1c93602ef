//! A debugger that we did not write: gdb-multiarch.

#![allow(dead_code, reason = "every test file uses a part of this")]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// The runner, about to run a kernel or program on the machine `name` and to wait for gdb.
pub fn runner(name: &str, kernel: &Path) -> Command {
    let machines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../machines");
    let mut runner = Command::new(env!("CARGO_BIN_EXE_pagewalk-machine"));
    runner
        .arg("run")
        .arg("--machine")
        .arg(machines.join(format!("{name}.toml")))
        .arg("--kernel")
        .arg(kernel)
        .args(["--gdb", "0"]);
    runner
}

/// Starts the runner and lets gdb, begun with these arguments, attach to it and do `commands`. Gives what gdb said, and
/// the runner's exit status.
pub fn attached(
    mut runner: Command,
    arguments: &[&str],
    commands: &[&str],
) -> (String, Option<i32>) {
    let mut runner = runner.stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut messages = BufReader::new(runner.stderr.take().unwrap());
    messages.read_line(&mut line).unwrap();
    let port = line.trim().rsplit(' ').next().unwrap().to_owned();
    let mut gdb = Command::new("gdb-multiarch");
    gdb.args(["-nx", "-batch"]).args(arguments);
    gdb.args(["-ex", &format!("target remote 127.0.0.1:{port}")]);
    for command in commands {
        gdb.args(["-ex", command]);
    }
    let output = gdb.output().expect("gdb-multiarch is installed");
    let status = runner.wait().unwrap().code();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (text + &String::from_utf8_lossy(&output.stderr), status)
}

/// [`attached`] to an image without symbols, whose architecture gdb is told.
pub fn gdb(
    machine: &str,
    image: &[u8],
    architecture: &str,
    commands: &[&str],
) -> (String, Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let kernel = folder.path().join("kernel");
    std::fs::write(&kernel, image).unwrap();
    let mut runner = runner(machine, &kernel);
    runner.args(["--max-instructions", "1000000"]);
    let told = format!("set architecture {architecture}");
    attached(runner, &["-ex", &told], commands)
}
