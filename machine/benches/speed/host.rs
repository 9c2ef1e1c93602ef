//! What the host does: the time that a program had of its processors, its instructions, and who else wants them.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Runs of which the fastest counts.
const RUNS: usize = 3;

/// Pairs of runs, in turn. The median of their ratios counts.
pub const PAIRS: usize = 5;

/// Seconds, the best of some runs.
pub fn best(mut run: impl FnMut() -> f64) -> f64 {
    (0..RUNS).map(|_| run()).fold(f64::INFINITY, f64::min)
}

/// The pair of times whose ratio is the median. The two sides run in turn, so that what else the host does meets both.
pub fn pairs(mut one: impl FnMut() -> f64, mut other: impl FnMut() -> f64) -> (f64, f64) {
    let mut found: Vec<(f64, f64)> = (0..PAIRS).map(|_| (one(), other())).collect();
    found.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    found[PAIRS / 2]
}

/// Seconds that the main thread of a program had.
pub fn timed(command: &mut Command) -> f64 {
    let child = command.stdout(Stdio::null()).spawn();
    let mut child = child.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    // The kernel forgets the time once the end of the program has been waited for.
    let folder = format!("/proc/{}", child.id());
    let ended = || {
        let text = std::fs::read_to_string(format!("{folder}/stat")).unwrap_or_default();
        text.rsplit(')')
            .next()
            .is_none_or(|rest| rest.starts_with(" Z"))
    };
    while !ended() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let time = scheduled(&format!("{folder}/schedstat"));
    let status = child.wait().expect("it has ended");
    assert!(status.success(), "{command:?}: {status}");
    time
}

/// Seconds that a program had with all of its threads and of the programs that it started, as a shell tells them.
pub fn timed_with_all(command: &Command) -> f64 {
    let done = Command::new("bash")
        .args([
            "-c",
            "TIMEFORMAT=$'\\n%3U %3S'; time \"$@\" > /dev/null",
            "bash",
        ])
        .arg(command.get_program())
        .args(command.get_args())
        .output()
        .expect("there is a program `bash`");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {said}");
    let last = said.lines().last().unwrap_or_default();
    last.split(' ')
        .map(|part| part.parse().unwrap_or(f64::NAN))
        .sum()
}

/// Seconds that this thread has run on a processor of the host.
pub fn thread_time() -> f64 {
    scheduled("/proc/thread-self/schedstat")
}

/// The same of the thread with this file.
fn scheduled(file: &str) -> f64 {
    let text = std::fs::read_to_string(file).expect("Linux counts it");
    let nanoseconds = text.split(' ').next().and_then(|word| word.parse().ok());
    nanoseconds.map_or(f64::NAN, |count: u64| count as f64 / 1e9)
}

/// Instructions of the host that a run of `pagewalk-machine` takes, as Valgrind counts them; None without Valgrind.
pub fn instructions(machine: &Path, program: &Path, rounds: u64) -> Option<u64> {
    let done = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--smc-check=all"])
        .arg("--cachegrind-out-file=/dev/null")
        .arg(env!("CARGO_BIN_EXE_pagewalk-machine"))
        .arg("program")
        .arg("--machine")
        .arg(machine)
        .arg("--")
        .arg(program)
        .arg(rounds.to_string())
        .stdout(Stdio::null())
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&done.stderr);
    let line = said.lines().find(|line| line.contains(" refs:"))?;
    line.rsplit(' ').next()?.replace(',', "").parse().ok()
}

/// How many threads beside this one want a processor, on average over the looks.
#[derive(Default)]
pub struct Load {
    looks: u32,
    others: u32,
}

/// More than this, and the figures are no judgement of an aim.
const MOST: f64 = 1.0;

impl Load {
    /// Looks now, while nothing of the benchmark runs beside this thread.
    pub fn look(&mut self) {
        let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let running = text
            .split(' ')
            .nth(3)
            .and_then(|word| word.split('/').next());
        self.others += running.map_or(0, |word| word.parse::<u32>().unwrap_or(1).saturating_sub(1));
        self.looks += 1;
    }

    /// On average.
    pub fn others(&self) -> f64 {
        f64::from(self.others) / f64::from(self.looks.max(1))
    }

    /// A page's first sentence, if the host was too busy.
    pub fn warning(&self) -> Option<String> {
        (self.others() > MOST).then(|| {
            format!(
                "**The host was busy**: {:.1} threads beside the benchmark wanted a processor, on average. An aim can \
                 neither be met nor missed by these figures.",
                self.others()
            )
        })
    }
}
