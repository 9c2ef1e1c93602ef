//! Kernel and program on QEMU's 40p and here: the same kernel and the same initial RAM file system.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::host::{best, pairs, timed, timed_with_all};

/// Speed as a fraction of qemu-system-ppc's; None if the kernel is not built.
pub fn ratio(machine: &Path, program: &Path, rounds: u64, factor: u64) -> Option<f64> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let kernel = root.join("build/kernel/vmlinux");
    let init = std::fs::read(root.join("build/user/init")).ok()?;
    if !kernel.is_file() {
        return None;
    }
    let initrd = program.with_extension("cpio");
    let content = std::fs::read(program).expect("it was just compiled");
    std::fs::write(&initrd, archive(&init, &content))
        .expect("the scratch directory can be written");
    let line = |rounds: u64| format!("quiet -- /bin/program {rounds}");
    let here = |rounds: u64| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pagewalk-machine"));
        command.arg("run").arg("--machine").arg(machine);
        command.arg("--kernel").arg(&kernel);
        command.arg("--initrd").arg(&initrd);
        timed(command.arg("--append").arg(line(rounds)))
    };
    let script: PathBuf = root.join("kernel/arch/ppc/boot/qemu-40p");
    let qemu = |rounds: u64| {
        let mut command = Command::new(&script);
        command.args(["-t", "3600", "-k"]).arg(&kernel);
        command.arg("-i").arg(&initrd).arg(line(rounds));
        timed_with_all(&command)
    };
    let (start_here, start_qemu) = (best(|| here(0)), best(|| qemu(0)));
    let (ours, theirs) = pairs(
        || here(rounds) - start_here,
        || (qemu(rounds * factor) - start_qemu) / factor as f64,
    );
    Some(theirs / ours)
}

/// An initial RAM file system (cpio, "newc") with init, the program and a console.
fn archive(init: &[u8], program: &[u8]) -> Vec<u8> {
    const DIRECTORY: u32 = 0o40755;
    const FILE: u32 = 0o100_755;
    const DEVICE: u32 = 0o20600;
    let mut out = Vec::new();
    let mut member = |name: &str, mode: u32, data: &[u8], device: (u32, u32)| {
        let fields = [
            1,
            mode,
            0,
            0,
            1,
            0,
            data.len() as u32,
            0,
            0,
            device.0,
            device.1,
            name.len() as u32 + 1,
            0,
        ];
        out.extend_from_slice(b"070701");
        for field in fields {
            out.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        out.extend_from_slice(name.as_bytes());
        out.push(0);
        out.resize(out.len().next_multiple_of(4), 0);
        out.extend_from_slice(data);
        out.resize(out.len().next_multiple_of(4), 0);
    };
    for folder in ["bin", "dev", "proc", "tmp"] {
        member(folder, DIRECTORY, b"", (0, 0));
    }
    member("dev/console", DEVICE, b"", (5, 1));
    member("init", FILE, init, (0, 0));
    member("bin/program", FILE, program, (0, 0));
    member("TRAILER!!!", 0, b"", (0, 0));
    out
}
