//! The programs that are timed, and how they are compiled for each architecture.

use std::path::{Path, PathBuf};
use std::process::Command;

pub struct Bench {
    pub name: &'static str,
    /// C source, in `benches/programs/` or generated.
    pub source: PathBuf,
    pub rounds: u64,
    /// Counts in the geometric mean.
    pub counts: bool,
    /// Also runs on our kernel, here and on QEMU's 40p.
    pub on_kernel: bool,
}

/// All programs. What is generated is written to the folder.
pub fn all(folder: &Path) -> Vec<Bench> {
    let sources = sources();
    let generated = folder.join("hot-code.c");
    std::fs::write(&generated, hot_code()).expect("the scratch directory can be written");
    vec![
        Bench {
            name: "integer",
            source: sources.join("integer.c"),
            rounds: 8000,
            counts: true,
            on_kernel: true,
        },
        Bench {
            name: "memory",
            source: sources.join("memory.c"),
            rounds: 60,
            counts: true,
            on_kernel: true,
        },
        Bench {
            name: "interpreter",
            source: sources.join("interpreter.c"),
            rounds: 150,
            counts: true,
            on_kernel: true,
        },
        Bench {
            name: "hot-code",
            source: generated,
            rounds: 800,
            counts: true,
            on_kernel: false,
        },
        Bench {
            name: "columns",
            source: sources.join("columns.c"),
            rounds: 50,
            counts: false,
            on_kernel: false,
        },
    ]
}

/// The folder of the programs' sources.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/programs")
}

/// Functions of the program with much code.
const FUNCTIONS: u32 = 1600;

/// C source of a program that calls, in random order, so many functions that they fill several hundred KB.
fn hot_code() -> String {
    let mut text = String::from("#include <stdio.h>\n#include <stdlib.h>\n");
    for n in 0..FUNCTIONS {
        text += &format!(
            "static unsigned f{n}(unsigned a, unsigned *m)\n{{\n\tunsigned b = m[{}];\n",
            n % 61
        );
        for k in 0..10 {
            let (x, y) = (n * 7 + k * 13, (n + k) % 23 + 3);
            text += &format!(
                "\ta = (a << {} | a >> {}) + b * {};\n\tif (a & {})\n\t\tb ^= a + {x};\n",
                y % 31 + 1,
                31 - y % 31,
                x % 97 + 3,
                1 << (k + n % 7),
            );
        }
        text += &format!("\tm[{}] = b;\n\treturn a;\n}}\n", (n + 17) % 61);
    }
    text += "static unsigned (*const table[])(unsigned, unsigned *) = {\n";
    for n in 0..FUNCTIONS {
        text += &format!("\tf{n},\n");
    }
    text += &format!(
        "}};\n\nint main(int argc, char **argv)\n{{\n\
         \tunsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;\n\
         \tunsigned m[64] = {{1, 2, 3}}, seed = 1, a = 1;\n\
         \tfor (unsigned long n = 0; n < rounds * 1000; n++) {{\n\
         \t\tseed = seed * 1103515245 + 12345;\n\
         \t\ta = table[(seed >> 8) % {FUNCTIONS}](a, m);\n\
         \t}}\n\tprintf(\"%08x\\n\", a);\n\treturn 0;\n}}\n"
    );
    text
}

pub fn compile(bench: &Bench, folder: &Path) -> PathBuf {
    build(&bench.source, &folder.join(bench.name), &[])
}

/// The program without a C library, its argument built in.
pub fn compile_bare(bench: &Bench, folder: &Path, rounds: u64) -> PathBuf {
    let bare = sources().join("bare.c");
    let rounds = format!("-DROUNDS=\"{rounds}\"");
    let flags = [
        "-nostdlib",
        "-fno-builtin",
        &rounds,
        &bare.display().to_string(),
        "-lgcc",
    ];
    build(
        &bench.source,
        &folder.join(format!("{}-bare", bench.name)),
        &flags,
    )
}

pub fn build(source: &Path, program: &Path, flags: &[&str]) -> PathBuf {
    let status = Command::new("powerpc-linux-gnu-gcc")
        .args([
            "-O2",
            "-static",
            "-mcpu=powerpc",
            "-fno-inline",
            "-Wl,-z,max-page-size=4096",
            "-o",
        ])
        .arg(program)
        .arg(source)
        .args(flags)
        .status()
        .expect("powerpc-linux-gnu-gcc is installed by ./bootstrap run");
    assert!(status.success(), "{} does not compile", source.display());
    program.to_owned()
}

/// The program for an i386 without a C library, its argument built in.
pub fn compile_i386(bench: &Bench, folder: &Path, rounds: u64) -> Vec<String> {
    let sources = sources();
    let program = folder.join(format!("{}-i386-{rounds}", bench.name));
    let status = Command::new("gcc")
        .args([
            "-m32",
            "-march=i486",
            "-O2",
            "-static",
            "-nostdlib",
            "-ffreestanding",
        ])
        .args([
            "-fno-pic",
            "-no-pie",
            "-fno-stack-protector",
            "-fno-builtin",
            "-fno-inline",
        ])
        .args(["-Wl,-z,max-page-size=4096", "-isystem"])
        .arg(sources.join("bare"))
        .arg(format!("-DROUNDS=\"{rounds}\""))
        .arg("-o")
        .arg(&program)
        .arg(&bench.source)
        .arg(sources.join("bare.c"))
        .status()
        .expect("gcc is installed by ./bootstrap run");
    assert!(status.success(), "{} does not compile", bench.name);
    vec![program.display().to_string()]
}

/// The program for RV64GC, which is told the rounds by its argument.
pub fn compile_riscv(bench: &Bench, folder: &Path, rounds: u64) -> Vec<String> {
    let program = folder.join(format!("{}-riscv", bench.name));
    if !program.exists() {
        let status = Command::new("riscv64-linux-gnu-gcc")
            .args(["-O2", "-static", "-fno-inline", "-o"])
            .arg(&program)
            .arg(&bench.source)
            .status()
            .expect("riscv64-linux-gnu-gcc is installed by ./bootstrap test");
        assert!(status.success(), "{} does not compile", bench.name);
    }
    vec![program.display().to_string(), rounds.to_string()]
}
