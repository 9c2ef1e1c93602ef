//! The kernel with two programs, built by its own Makefile where that has not been done.

#![allow(dead_code, reason = "every test file uses a part of this")]

use std::path::{Path, PathBuf};
use std::process::Command;

use pagewalk_machine::board::Console;
use pagewalk_machine::config::MachineConfig;
use pagewalk_machine::powerpc::session::Session;

/// What a session boots.
pub struct Kernel {
    /// ELF image for one processor.
    pub image: Vec<u8>,
    /// The one for several.
    pub image_of_several: Vec<u8>,
    /// init, hello and tlb-stress.
    pub initramfs: Vec<u8>,
    build: PathBuf,
}

impl Kernel {
    /// A file below the folder that things are built in, such as `kernel/vmlinux`.
    pub fn built(&self, path: &str) -> PathBuf {
        self.build.join(path)
    }

    /// A machine about to boot it with these words on its command line.
    pub fn session(&self, config: MachineConfig, words: &str) -> Session {
        let archive = Some(&self.initramfs[..]);
        let image = if config.processors > 1 {
            &self.image_of_several
        } else {
            &self.image
        };
        Session::with_kernel(config, image, "vmlinux", archive, words, Console::memory())
            .expect("the kernel fits")
    }
}

/// Builds what is out of date.
pub fn build() -> Kernel {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let root = root.canonicalize().expect("the source tree");
    let (kernel, user) = (root.join("build/kernel"), root.join("build/user"));
    let images = [kernel.join("vmlinux"), kernel.join("vmlinux-smp")];
    make(&root.join("kernel"), &kernel, &images);
    let programs = [
        ("init", user.join("init")),
        ("bin/hello", user.join("hello")),
        ("bin/tlb-stress", user.join("bench/tlb-stress")),
    ];
    make(
        &root.join("user"),
        &user,
        &programs.each_ref().map(|(_, file)| file.clone()),
    );
    let mut members = vec![
        Member::directory("bin"),
        Member::directory("dev"),
        Member::directory("proc"),
        Member::directory("tmp"),
        Member::console(),
    ];
    members.extend(
        programs
            .iter()
            .map(|(path, file)| Member::file(path, read(file))),
    );
    Kernel {
        image: read(&images[0]),
        image_of_several: read(&images[1]),
        initramfs: pack(&members),
        build: root.join("build"),
    }
}

/// An initramfs with these files.
pub fn archive(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let members: Vec<_> = files
        .iter()
        .map(|(path, data)| Member::file(path, data.clone()))
        .collect();
    pack(&members)
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn make(folder: &Path, build: &Path, targets: &[PathBuf]) {
    let output = Command::new("make")
        .arg("-s")
        .arg("-C")
        .arg(folder)
        .arg(format!("BUILD={}", build.display()))
        .args(targets)
        .env_remove("MAKEFLAGS")
        .output()
        .expect("make is installed");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A member of a cpio archive.
struct Member {
    path: String,
    mode: u32,
    device: (u32, u32),
    data: Vec<u8>,
}

impl Member {
    fn directory(path: &str) -> Self {
        Self::new(path, 0o040_755, Vec::new())
    }

    fn file(path: &str, data: Vec<u8>) -> Self {
        Self::new(path, 0o100_755, data)
    }

    fn console() -> Self {
        Self {
            device: (5, 1),
            ..Self::new("dev/console", 0o020_600, Vec::new())
        }
    }

    fn new(path: &str, mode: u32, data: Vec<u8>) -> Self {
        Self {
            path: path.to_owned(),
            mode,
            device: (0, 0),
            data,
        }
    }
}

/// The "newc" format (Linux kernel documentation, "initramfs buffer format").
fn pack(members: &[Member]) -> Vec<u8> {
    let mut out = Vec::new();
    let trailer = Member::new("TRAILER!!!", 0, Vec::new());
    for (inode, member) in members.iter().chain([&trailer]).enumerate() {
        let (size, name) = (member.data.len() as u32, member.path.len() as u32 + 1);
        let (major, minor) = member.device;
        out.extend(b"070701");
        for field in [
            inode as u32 + 1,
            member.mode,
            0,
            0,
            1,
            0,
            size,
            0,
            0,
            major,
            minor,
            name,
            0,
        ] {
            out.extend(format!("{field:08x}").bytes());
        }
        out.extend(member.path.bytes().chain([0]));
        out.resize(out.len().next_multiple_of(4), 0);
        out.extend(&member.data);
        out.resize(out.len().next_multiple_of(4), 0);
    }
    out
}
