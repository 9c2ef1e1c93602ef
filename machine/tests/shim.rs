//! Real programs without a kernel: Lua and SQLite print the same as under `qemu-ppc`, on every kind of core.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// SQLite warns when there is none.
const HOME: &str = "HOME=/nonexistent";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A program of `tests/programs`, built from Debian's source package if it is not there yet.
fn program(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let programs = BUILT.get_or_init(|| {
        let status = Command::new(root().join("tests/programs/build.sh"))
            .args(["musl", "lua", "sqlite"])
            .status()
            .expect("tests/programs/build.sh can be run");
        assert!(status.success(), "tests/programs/build.sh: {status}");
        std::env::var_os("PAGEWALK_PROGRAMS")
            .map_or_else(|| root().join("build/programs"), PathBuf::from)
    });
    programs.join("bin").join(name)
}

fn run(mut command: Command, input: &Path) -> Output {
    command
        .stdin(Stdio::from(std::fs::File::open(input).unwrap()))
        .current_dir(root())
        .env_clear()
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn on_qemu(program: &Path, arguments: &[&str], input: &Path) -> Output {
    let mut command = Command::new("/usr/bin/qemu-ppc");
    command
        .args(["-cpu", "604", "-E", HOME])
        .arg(program)
        .args(arguments);
    run(command, input)
}

fn here(
    machine: &str,
    options: &[&str],
    program: &Path,
    arguments: &[&str],
    input: &Path,
) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pagewalk-machine"));
    command
        .args(["program", "--machine"])
        .arg(root().join(format!("machines/{machine}.toml")))
        .args(["--env", HOME])
        .args(options)
        .arg("--")
        .arg(program)
        .args(arguments);
    run(command, input)
}

fn compare(machine: &str, name: &str, arguments: &[&str], input: &Path) {
    let program = program(name);
    let expected = on_qemu(&program, arguments, input);
    let got = here(machine, &[], &program, arguments, input);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(
        text(&got.stdout),
        text(&expected.stdout),
        "{}",
        text(&got.stderr)
    );
    // The runner's own warning comes first.
    let said = text(&got.stderr);
    let (warning, said) = said.split_once('\n').expect("the runner warns");
    assert!(warning.contains("opens this computer's files"), "{warning}");
    assert_eq!(said, text(&expected.stderr));
    assert_eq!(got.status.code(), expected.status.code());
    assert!(!got.stdout.is_empty(), "{name} prints something");
}

fn cases(name: &str) -> PathBuf {
    root().join("tests/cases").join(name)
}

#[test]
fn lua_computes_what_it_computes_under_qemu() {
    // glibc's sine uses `mffscrni`, which is `mffs` on these cores (bits 11-15 are reserved there and
    // ignored); qemu-ppc 7.2 takes it for illegal. So musl does the sums.
    for (machine, libc, script) in [
        ("ppc603-133", "musl", "numbers.lua"),
        ("ppc604-133", "glibc", "strings.lua"),
        ("ppc604-133", "musl", "programs.lua"),
        ("ppc750-400", "musl", "numbers.lua"),
    ] {
        let name = format!("{libc}/lua");
        compare(machine, &name, &["-"], &cases("lua").join(script));
    }
}

#[test]
fn sqlite_answers_what_it_answers_under_qemu() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("session.sql");
    std::fs::write(
        &script,
        "create table t (n integer primary key, square real, name text);\n\
         with recursive c(n) as (select 1 union all select n + 1 from c where n < 3000)\n\
         insert into t select n, sqrt(n) * n, printf('%05d-%x', n, n * 7919) from c;\n\
         create index by_name on t (name desc);\n\
         select count(*), sum(n), round(avg(square), 6), min(name), max(name) from t;\n\
         select n, name, square from t where name like '%a%' order by name limit 20;\n\
         delete from t where n % 3 = 0;\n\
         select count(*), total(square) from t;\n\
         select substr(name, 1, 2) as head, count(*) from t group by head order by 2 desc, 1 limit 5;\n\
         select * from missing;\n\
         pragma integrity_check;\n",
    )
    .unwrap();
    for (machine, libc) in [("ppc603-133", "musl"), ("ppc604-133", "glibc")] {
        compare(machine, &format!("{libc}/sqlite3"), &[":memory:"], &script);
    }
}

#[test]
fn cycles_and_counters_are_those_of_the_oracle() {
    let folder = tempfile::tempdir().unwrap();
    let program = program("musl/lua");
    // The oracle is slow, and nothing new comes after some thousand rounds of a loop.
    let text = std::fs::read_to_string(cases("lua").join("numbers.lua")).unwrap();
    let short = text.replace("1, 100000 do", "1, 4000 do");
    let short = short.replace("1, 200000 do", "1, 4000 do");
    assert!(short.len() == text.len() - 4, "two loops are shorter");
    let input = folder.path().join("numbers.lua");
    std::fs::write(&input, short).unwrap();
    for machine in ["ppc603-133", "ppc604-133"] {
        let [fast, oracle] = ["fast.json", "oracle.json"].map(|name| folder.path().join(name));
        for (file, oracle) in [(&fast, false), (&oracle, true)] {
            let file = file.to_str().unwrap();
            let mut options = vec!["--counters", file];
            if oracle {
                options.push("--oracle");
            }
            let output = here(machine, &options, &program, &["-"], &input);
            assert!(output.status.success(), "{output:?}");
        }
        let read = |path| std::fs::read_to_string(path).unwrap();
        assert_eq!(read(&fast), read(&oracle));
        assert!(read(&fast).contains("\"tlb.data.miss\""));
    }
}

#[test]
fn a_program_that_goes_wrong_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("wrong.s");
    std::fs::write(&source, ".globl _start\n_start: li 3, 16\n lwz 4, 0(3)\n").unwrap();
    let program = folder.path().join("wrong");
    let status = Command::new("powerpc-linux-gnu-gcc")
        .args(["-nostdlib", "-static", "-o"])
        .arg(&program)
        .arg(&source)
        .status()
        .unwrap();
    assert!(status.success());
    for machine in ["ppc603-133", "ppc604-133", "mpc855t-48"] {
        let output = here(machine, &[], &program, &[], Path::new("/dev/null"));
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{message}");
        assert!(message.contains("<_start+0x4>"), "{message}");
    }
}

/// 100 pages in turn, more than the 8xx's TLB holds, some of them given back and mapped again: brk, then write and
/// exit.
const PAGES: &str = "
.globl _start
_start:
  li 0, 45
  li 3, 0
  sc
  mr 31, 3
  addis 3, 3, 7
  li 0, 45
  sc
  li 30, 3
1: mr 10, 31
  li 4, 100
  mtctr 4
2: lwz 5, 8(10)
  add 5, 5, 4
  stw 5, 8(10)
  addi 10, 10, 4096
  bdnz 2b
  mr 3, 31
  li 0, 45
  sc
  addis 3, 31, 7
  li 0, 45
  sc
  addic. 30, 30, -1
  bne 1b
  li 0, 4
  li 3, 1
  lis 4, text@ha
  addi 4, 4, text@l
  li 5, 5
  sc
  li 0, 1
  li 3, 7
  sc
text: .ascii \"done\\n\"
";

#[test]
fn an_8xx_loads_a_programs_pages() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("pages.s"), folder.path().join("pages"));
    std::fs::write(&source, PAGES).unwrap();
    let status = Command::new("powerpc-linux-gnu-gcc")
        .args(["-nostdlib", "-static", "-o"])
        .arg(&program)
        .arg(&source)
        .status()
        .unwrap();
    assert!(status.success());
    let counted = |oracle: &[&str]| {
        let file = folder.path().join("counters.json");
        let mut options = vec!["--counters", file.to_str().unwrap()];
        options.extend(oracle);
        let output = here(
            "mpc855t-48",
            &options,
            &program,
            &[],
            Path::new("/dev/null"),
        );
        assert_eq!(output.status.code(), Some(7), "{output:?}");
        assert_eq!(output.stdout, b"done\n");
        std::fs::read_to_string(file).unwrap()
    };
    let fast = counted(&[]);
    assert_eq!(fast, counted(&["--oracle"]));
    assert!(fast.contains("\"tlb.data.miss\": 300"), "{fast}");
}

#[test]
fn what_is_no_program_is_refused() {
    let text = root().join("Cargo.toml");
    let output = here("ppc604-133", &[], &text, &[], Path::new("/dev/null"));
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(126), "{message}");
    assert!(message.contains("is not an ELF file"), "{message}");
}

/// Opens a file by its path, at 1f, and reads a byte; exits with the error of the first that fails, or 0.
fn opens(folder: &Path, path: &str) -> Output {
    let source = folder.join("opens.s");
    let text = format!(
        ".globl _start
         _start:
           li 0, 5
           lis 3, path@ha
           addi 3, 3, path@l
           li 4, 0
           sc
           bso 1f
           li 0, 3
           lis 4, byte@ha
           addi 4, 4, byte@l
           li 5, 1
           sc
           bso 1f
           li 3, 0
         1: li 0, 1
           sc
           .data
         path: .asciz \"{path}\"
         byte: .space 4
        "
    );
    std::fs::write(&source, text).unwrap();
    let program = folder.join("opens");
    let status = Command::new("powerpc-linux-gnu-gcc")
        .args(["-nostdlib", "-static", "-o"])
        .arg(&program)
        .arg(&source)
        .status()
        .unwrap();
    assert!(status.success());
    let options = ["--max-cycles", "1000000"];
    here(
        "ppc604-133",
        &options,
        &program,
        &[],
        Path::new("/dev/null"),
    )
}

#[test]
fn a_pipe_of_the_host_does_not_hold_a_program_up() {
    const ENXIO: i32 = 6;
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let output = opens(folder.path(), pipe.to_str().unwrap());
    assert_eq!(output.status.code(), Some(ENXIO), "{output:?}");
    let output = opens(folder.path(), "/dev/zero");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("opens this computer's files"), "{message}");
}
