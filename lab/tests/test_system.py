"""The command on machine, kernel and programs as they were built."""

import json
import os
import re
import shlex
import signal
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

from pagewalk import architectures, experiments, kernel_image, machines, native, policies
from pagewalk.architectures import POWERPC
from pagewalk.paths import home

pytestmark = [pytest.mark.built]

COMMAND = [sys.executable, "-c", "from pagewalk.entry import main; main()"]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    results = tmp_path_factory.mktemp("results") / "results.duckdb"
    return {**os.environ, "PAGEWALK_HOME": str(home().root), "PAGEWALK_RESULTS": str(results)}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs as a reader compiles them: good, failing, crashing, dynamic, and for another machine."""
    folder = tmp_path_factory.mktemp("programs")
    sources = {
        "greet": '#include <stdio.h>\nint main(int n, char **v) { printf("hello %s\\n", v[1]); return n; }',
        "fail": "int main(void) { return 77; }",
        "crash": "int main(void) { *(volatile int *)8 = 1; return 0; }",
        "repeat": "#include <stdio.h>\n"
        "int main(void) { char line[80]; while (fgets(line, 80, stdin) && line[0] != '.') printf(\"<%s\", line); }",
        "ram": "#include <stdio.h>\n#include <sys/sysinfo.h>\n"
        'int main(void) { struct sysinfo i; sysinfo(&i); printf("%lu\\n", i.totalram / 1024 * i.mem_unit); return 0; }',
        "fork": "#include <sys/wait.h>\n#include <unistd.h>\n"
        "__attribute__((noinline)) void in_child(void) { for (volatile int n = 0; n < 1000; n++); }\n"
        "int main(void) { if (!fork()) in_child(); else wait(0); return 0; }",
        "take-turns": "#include <sys/wait.h>\n#include <unistd.h>\n"
        "__attribute__((noinline)) void in_first(void) { for (volatile int n = 0; n < 1000000; n++); }\n"
        "__attribute__((noinline)) void in_second(void) { for (volatile int n = 0; n < 1000000; n++); }\n"
        "int main(int n, char **v) { if (n == 1) { in_second(); return 0; }\n"
        'if (!fork()) execl("/bin/second", "second", (char *)0); in_first(); wait(0); return 0; }',
    }
    sources["processors"] = (
        "#include <stdio.h>\n#include <unistd.h>\n"
        'int main(void) { printf("%ld processors run\\n", sysconf(_SC_NPROCESSORS_ONLN)); return 0; }'
    )
    for name, source in sources.items():
        (folder / f"{name}.c").write_text(source)
        subprocess.run(
            ["powerpc-linux-gnu-gcc", "-static", "-O2", "-o", folder / name, folder / f"{name}.c"], check=True
        )
    subprocess.run(["powerpc-linux-gnu-gcc", "-O2", "-o", folder / "dynamic", folder / "fail.c"], check=True)
    subprocess.run(["gcc", "-O2", "-o", folder / "native", folder / "fail.c"], check=True)
    return folder


def run(environment: dict[str, str], *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("machine", ["ppc603-133", "ppc604-185"])
def test_a_program_runs_and_its_cost_is_told(environment: dict[str, str], programs: Path, machine: str) -> None:
    done = run(environment, "exec", "-m", machine, "--", programs / "greet", "reader")
    assert done.stdout.splitlines()[-1] == "hello reader"
    assert done.returncode == 2
    assert "cycles" in done.stderr
    assert "by cause" in done.stderr
    if machine == "ppc604-185":  # whose walker's cycles are those of the causes that missed
        walked = re.search(r"cycles of table walks\s*│\s*([0-9,]+)", done.stderr)
        assert walked
        assert re.search(rf"walk\s*│\s*\({walked[1]}\)", done.stderr)
        assert f"({walked[1]}): cycles of table walks, which are charged to" in done.stderr


def test_a_run_is_the_same_every_time(environment: dict[str, str], programs: Path) -> None:
    first, second = (
        json.loads(run(environment, "exec", "--json", "--", programs / "greet", "x").stdout) for _ in range(2)
    )
    assert first == second
    assert 0 < first["counters"]["cycles"] < first["run_counters"]["cycles"]


@pytest.mark.parametrize(("name", "status"), [("fail", 77), ("crash", 128 + signal.SIGSEGV)])
def test_the_exit_status_is_the_programs(environment: dict[str, str], programs: Path, name: str, status: int) -> None:
    assert run(environment, "exec", "--", programs / name).returncode == status


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["exec", "--", "{programs}/dynamic"], "dynamically linked"),
        (["exec", "--", "{programs}/native"], "little-endian"),
        (["exec", "--", "{programs}/greet.c"], "not an ELF executable"),
        (["exec", "--", "{programs}/none"], "No such file"),
        (["exec", "-m", "ppc604-186", "--", "{programs}/greet"], "did you mean 'ppc604-185'?"),
        (["exec", "-p", "tlb.cutof=20", "--", "{programs}/greet"], "did you mean 'tlb.cutoff'?"),
        (["exec", "-p", "tlb.cutoff=many", "--", "{programs}/greet"], "choices: off, <pages>"),
        (["exec", "--set", "tlb.data.entry=32", "--", "{programs}/greet"], "nearest: `entries`"),
        (["exec", "--set", "tlb.data.entries=33", "--", "{programs}/greet"], "powers of two"),
        (["run", "osdi99-tabel2"], "did you mean 'osdi99-table2'?"),
        (["boot", "{programs}/native"], "native"),
        (["exec", "--save", "x.snap", "--", "{programs}/greet"], "--save FILE and --at CYCLE belong together"),
        (["exec", "--at", "7", "--", "{programs}/greet"], "--save FILE and --at CYCLE belong together"),
        (["exec", "--save", "{programs}", "--at", "7", "--", "{programs}/greet"], "directory"),
        (["resume", "{programs}/none"], "No such file"),
        (["resume", "{programs}"], "not a regular file"),
        (["resume", "{programs}/greet"], "is not a snapshot of this version of the machine"),
        (["dump"], "no program was given"),
        (["trace", "--from", "x.snap", "-o", "x.json", "--", "{programs}/greet"], "leave out the program"),
        (["sweep", "mmap-latenzy"], "did you mean 'mmap-latency'?"),
        (["compare", "osdi99-table2", "osdi99-table2"], "0 tables of osdi99-table2 are kept"),
    ],
)
def test_bad_input_is_refused(
    environment: dict[str, str], programs: Path, arguments: list[str], complaint: str
) -> None:
    done = run(environment, *(argument.format(programs=programs) for argument in arguments))
    # An option's value is the command line's fault, a program's or a name's is bad input.
    wrong_option = {"-m", "-p", "--set", "--save", "--at"} & set(arguments) and "directory" not in complaint
    assert done.returncode == (2 if wrong_option else 126), done.stderr
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["-m", "ppc604-133", "--protocol", "residual-data"], "reads a device tree, not residual data"),
        (["-m", "mpc855t-48", "--set", "board.kind=fads"], 'which board.kind = "fads" does not hand over'),
    ],
)
def test_our_kernel_is_handed_a_device_tree_only(
    environment: dict[str, str], arguments: list[str], complaint: str
) -> None:
    done = run(environment, "boot", str(POWERPC.kernel), *arguments)
    assert complaint in done.stderr
    assert done.returncode == 126, done.stderr


def test_our_kernel_names_the_board_that_it_has_drivers_for(environment: dict[str, str], programs: Path) -> None:
    done = run(environment, "exec", "-m", "ppc405-200", "--set", "board.kind=ppc405gp", "--", programs / "greet")
    assert "board.kind is 'ppc405gp', and our kernel has drivers for 'prep' alone" in done.stderr
    assert done.returncode == 126, done.stderr


def test_what_is_typed_before_the_kernel_is_ready_is_read(
    environment: dict[str, str], programs: Path, tmp_path: Path
) -> None:
    typed = tmp_path / "typed"
    typed.write_text("first line of more than sixteen characters\nsecond\n.\n")
    done = run(environment, "exec", "--input", typed, "--", programs / "repeat")
    assert [line for line in done.stdout.splitlines() if line.startswith("<")] == [
        "<first line of more than sixteen characters",
        "<second",
    ]


@pytest.mark.parametrize("megabytes", [8, 256, 320, 512, 1024])
def test_ram_is_used_up_to_what_the_kernel_maps(environment: dict[str, str], programs: Path, megabytes: int) -> None:
    done = run(environment, "exec", "--set", f"memory.size={megabytes << 20}", "--", programs / "ram")
    used = min(megabytes, 512)
    # The kernel's image takes up to an eighth of the least.
    assert 0.875 * used < int(done.stdout.split()[-1]) / 1024 < used


def test_a_limit_ends_a_run(environment: dict[str, str], programs: Path) -> None:
    done = run(environment, "exec", "--limit", "100000", "--", programs / "greet", "x")
    assert done.returncode == 124
    # What to try next is said last.
    assert 0 < done.stderr.index("pagewalk: ") < done.stderr.index("next: ")
    # With the program's arguments, as a shell must have them.
    assert "pagewalk profile -- " in done.stderr
    assert f"-- {shlex.quote(str(programs / 'greet'))} x" in " ".join(done.stderr.split())


def test_a_sweep_without_axes_has_a_title(environment: dict[str, str]) -> None:
    done = run(environment, "sweep", "null-call")
    assert done.returncode == 0, done.stderr
    assert "null-call on ppc604-185: us\n" in done.stdout.replace(" \n", "\n")


def test_a_guest_that_completes_no_instruction_ends(environment: dict[str, str], tmp_path: Path) -> None:
    """Its handler of alignment exceptions raises one: no limit of instructions is ever reached."""
    # addi 3, 0, 1; lwarx 4, 0, 3
    code = bytearray(0x700)
    struct.pack_into(">II", code, 0x200, 0x38600001, 0x7C801828)
    struct.pack_into(">I", code, 0x600, 0x7C801828)
    head = struct.pack(">16sHHIIIIIHHHHHH", b"\x7fELF\x01\x02\x01", 2, 20, 1, 0x200, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    segment = struct.pack(">8I", 1, 84, 0, 0, len(code), len(code), 7, 4)
    image = tmp_path / "noinstr.elf"
    image.write_bytes(head + segment + code)
    done = run(environment, "boot", image, "--limit", "100000")
    assert done.returncode == 125
    assert "no instruction completes: 1000 exceptions came in a row" in done.stderr


def test_a_profile_names_functions(environment: dict[str, str], programs: Path, tmp_path: Path) -> None:
    flame = tmp_path / "flame.folded"
    done = run(environment, "profile", "--boot", "--json", "--flame", flame, "--", programs / "greet", "x")
    rows = json.loads(done.stdout)
    assert any(row["program"] == "/bin/greet" and row["mode"] == "user" for row in rows)
    total = json.loads(run(environment, "exec", "--json", "--", programs / "greet", "x").stdout)["run_counters"][
        "cycles"
    ]
    assert sum(row["cycles"] for row in rows) == total
    alone = json.loads(run(environment, "profile", "--json", "--", programs / "greet", "x").stdout)
    assert 0 < sum(row["cycles"] for row in alone) < total
    assert ";main" in flame.read_text()


def test_a_profile_knows_a_forked_childs_program(environment: dict[str, str], programs: Path) -> None:
    rows = json.loads(run(environment, "profile", "--json", "--", programs / "fork").stdout)
    assert {row["program"] for row in rows if row["mode"] == "user"} == {"/init", "/bin/fork"}
    assert sum(row["cycles"] for row in rows if row["function"] == "in_child") > 1000


@pytest.mark.parametrize("policy", [(), ("-p", "switch.flush=tlb")])
def test_a_profile_tells_programs_that_take_turns_apart(
    environment: dict[str, str], programs: Path, policy: Sequence[str]
) -> None:
    both = programs / "take-turns"
    arguments: tuple[str | Path, ...] = ("-m", "ppc604-133", *policy, "--file", f"{both}:/bin/second", "--", both, "x")
    rows = json.loads(run(environment, "profile", "--json", *arguments).stdout)
    for function, program in (("in_first", "/bin/take-turns"), ("in_second", "/bin/second")):
        found = {row["program"]: row["cycles"] for row in rows if row["function"] == function}
        assert set(found) == {program}
        assert found[program] > 3_000_000


def test_two_profiles_are_compared(environment: dict[str, str], programs: Path, tmp_path: Path) -> None:
    files = [tmp_path / "old.json", tmp_path / "new.json"]
    for file, policy in zip(files, ["tlb.flush=search", "tlb.flush=lazy"], strict=True):
        options = ("-m", "ppc604-133", "-p", policy, "--flame", file, "--stacks", "--json")
        done = run(environment, "profile", *options, "--", programs / "fork")
        stacks = [row["frames"] for row in json.loads(done.stdout)]
        assert any(frames[-1] == "in_child" and "main" in frames for frames in stacks)
        assert any("main" in frames and frames[-1].endswith("_[k]") for frames in stacks)
    changes = json.loads(run(environment, "profile", "--json", "--diff", *files).stdout)
    assert changes["before"] > changes["after"] > 0
    assert sum(row["after"] - row["before"] for row in changes["changes"]) == changes["after"] - changes["before"]


@pytest.mark.parametrize(
    ("machine", "kind"), [("ppc604-185x2", "hash"), ("ppc603-133", "soft6xx"), ("mpc855t-48", "tree")]
)
def test_a_run_is_seen(environment: dict[str, str], programs: Path, tmp_path: Path, machine: str, kind: str) -> None:
    page = tmp_path / "see.html"
    done = run(environment, "see", "-m", machine, "-o", page, "--misses", "50", "--json", "--", programs / "fork")
    assert json.loads(done.stdout)["shown"] == 50
    embedded = page.read_text().partition('<script type="application/json" id="data">')[2].partition("</script>")[0]
    data = json.loads(embedded)
    assert data["kind"] == kind
    several = "processor 1, data" in data["tlb"]
    assert {miss.get("processor") for miss in data["misses"]} == ({0, 1} if several else {None})
    assert all(set(instant["tlb"]) == set(data["tlb"]) for instant in data["instants"])
    assert several == (machine == "ppc604-185x2")
    assert len(data["instants"]) >= 48
    assert data["flushes"]
    assert all(flush["before"] < flush["after"] for flush in data["flushes"])
    tables = {step.get("table") for miss in data["misses"] for step in miss["walk"]}
    assert {"level 1", "level 2"} <= tables or kind == "hash"
    assert "primary" in tables or kind == "tree"


def test_a_trace_is_written(environment: dict[str, str], programs: Path, tmp_path: Path) -> None:
    binary = tmp_path / "trace.pftrace"
    done = run(environment, "trace", "--window", "1000000..1100000", "-o", binary, "--", programs / "greet", "x")
    assert done.returncode == 0
    read = Trace()
    read.ParseFromString(binary.read_bytes())
    assert len(read.packet) > 100
    trace = tmp_path / "trace.json"
    done = run(environment, "trace", "--window", "1000000..1100000", "-o", trace, "--", programs / "greet", "x")
    assert done.returncode == 0, done.stderr
    assert json.loads(trace.read_text())["traceEvents"]
    done = run(
        environment, "trace", "--json", "--window", "1000000..1100000", "-o", trace, "--", programs / "greet", "x"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)


def test_a_trace_begins_with_the_program(environment: dict[str, str], programs: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"

    def first(*words: str) -> int:
        done = run(environment, "trace", "--translation", *words, "-o", trace, "--", programs / "greet", "x")
        assert done.returncode == 0, done.stderr
        events = json.loads(trace.read_text())["traceEvents"]
        return min(int(e["args"]["cycle"]) for e in events if e["ph"] != "M")

    whole, program = first("--boot"), first()
    assert program > 2 * whole
    done = run(environment, "trace", "--boot", "--window", "5..", "-o", trace, "--", programs / "greet")
    assert done.returncode == 2
    assert "--window" in done.stderr


@pytest.fixture(scope="module")
def saved(environment: dict[str, str], programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot of `greet` on a 603, after boot and before its end."""
    path = tmp_path_factory.mktemp("snapshots") / "greet.snap"
    arguments = ("--save", path, "--at", "2500000", "-m", "ppc603-133", "--", programs / "greet", "x")
    done = run(environment, "exec", *arguments)
    assert done.stdout.splitlines()[-1] == "hello x", done.stderr
    assert done.returncode == 2
    return path


def test_a_snapshot_goes_on_the_same(environment: dict[str, str], programs: Path, saved: Path) -> None:
    whole = json.loads(run(environment, "exec", "--json", "-m", "ppc603-133", "--", programs / "greet", "x").stdout)
    done = run(environment, "resume", "--json", saved)
    assert done.returncode == 2, done.stderr
    resumed = json.loads(done.stdout)
    assert resumed == {key: value for key, value in whole.items() if key != "run"}
    shown = run(environment, "resume", saved)
    assert (shown.returncode, shown.stdout) == (2, "hello x\n")
    assert "by cause" in shown.stderr


def test_profile_trace_and_dump_begin_at_a_snapshot(environment: dict[str, str], saved: Path, tmp_path: Path) -> None:
    rows = json.loads(run(environment, "profile", "--boot", "--json", "--from", saved).stdout)
    cycles = json.loads(run(environment, "resume", "--json", saved).stdout)["run_counters"]["cycles"]
    assert 0 < sum(row["cycles"] for row in rows) <= cycles - 2500000
    trace = tmp_path / "trace.json"
    assert run(environment, "trace", "-o", trace, "--from", saved).returncode == 0
    events = json.loads(trace.read_text())["traceEvents"]
    assert min(event["args"]["cycle"] for event in events if event["ph"] != "M") >= 2500000
    state = json.loads(run(environment, "dump", "--json", "--at", "2600000", "--from", saved).stdout)
    assert 2600000 <= state["cycle"] < 2700000


def test_damaged_snapshots_are_refused(environment: dict[str, str], saved: Path, tmp_path: Path) -> None:
    good = saved.read_bytes()
    damaged = tmp_path / "damaged.snap"
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 0x10
    for content, words in (
        (good[: len(good) // 2], "damaged.snap: the snapshot is damaged"),
        (bytes(flipped), "damaged.snap: the snapshot is damaged"),
        (good[:6], "is not a snapshot of this version of the machine"),
        (b"", "is not a snapshot of this version of the machine"),
    ):
        damaged.write_bytes(content)
        done = run(environment, "resume", damaged)
        assert (done.returncode, done.stdout) == (126, "")
        assert words in done.stderr
        assert "Traceback" not in done.stderr


def test_a_snapshot_behind_the_end_is_not_written(environment: dict[str, str], programs: Path, tmp_path: Path) -> None:
    path = tmp_path / "late.snap"
    done = run(environment, "exec", "--save", path, "--at", "900000000000", "--", programs / "greet", "x")
    assert done.returncode == 126
    assert "before cycle 900,000,000,000" in done.stderr
    assert not path.exists()


def test_runs_are_compared_without_boot(environment: dict[str, str], programs: Path) -> None:
    first, second = (
        json.loads(run(environment, "exec", "--json", *words, "--", programs / "greet", "x").stdout)
        for words in ([], ["--set", "tlb.data.entries=32"])
    )
    done = run(environment, "compare", first["run"][:12], second["run"][:12])
    assert "the program, without boot" in done.stdout
    rows = json.loads(run(environment, "compare", "--json", first["run"], second["run"]).stdout)
    cycles = next(row for row in rows if row["counter"] == "cycles")
    assert (cycles["first"], cycles["second"]) == (first["counters"]["cycles"], second["counters"]["cycles"])
    cut = json.loads(run(environment, "exec", "--json", "--limit", "300000", "--", programs / "greet", "x").stdout)
    done = run(environment, "compare", first["run"], cut["run"])
    assert "the whole runs, boot included" in done.stdout
    rows = json.loads(run(environment, "compare", "--json", first["run"], cut["run"]).stdout)
    cycles = next(row for row in rows if row["counter"] == "cycles")
    assert (cycles["first"], cycles["second"]) == (first["run_counters"]["cycles"], cut["run_counters"]["cycles"])


@pytest.mark.parametrize("machine", ["ppc604-133", "ppc970-1600"])
def test_a_dump_shows_the_hash_table(machine: str, environment: dict[str, str], programs: Path) -> None:
    state = json.loads(run(environment, "dump", "--json", "-m", machine, "--", programs / "greet", "x").stdout)
    assert state["hash_table"]["used"] == len(state["hash_table"]["entries"]) > 0


def test_a_dump_of_a_970_shows_slb_erats_and_tlb(environment: dict[str, str], programs: Path) -> None:
    shown = run(environment, "dump", "-m", "ppc970-1600", "--", programs / "greet", "x").stdout
    for title in ("segment lookaside buffer", "instruction ERAT", "data ERAT", "TLB"):
        assert re.search(rf"^ *{title} *$", shown, re.MULTILINE), title
    used = re.search(r"tlb\.used +│ +([\d,]+)", shown)
    assert used is not None
    assert int(used[1].replace(",", "")) > 100


def test_gdb_stops_in_the_kernel(environment: dict[str, str], programs: Path) -> None:
    arguments = [*COMMAND, "gdb", "--port", "0", "--json", "--", str(programs / "fail")]
    with subprocess.Popen(
        arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as told:
        assert told.stderr is not None
        announced = re.search(r"gdb-multiarch (.+) -ex 'target remote :(\d+)'", told.stderr.readline())
        assert announced is not None
        (kernel,), port = shlex.split(announced[1]), announced[2]
        commands = [f"target remote :{port}", "break start_init", "continue", "bt 1", "info registers pc", "detach"]
        looked = subprocess.run(
            ["gdb-multiarch", "-nx", "-batch", kernel, *(word for line in commands for word in ("-ex", line))],
            capture_output=True,
            text=True,
            check=False,
        )
        output, _ = told.communicate()
    assert "Breakpoint 1, start_init" in looked.stdout
    # Let go, the program runs on to its end.
    assert json.loads(output)["stop"] == "power-off"


def test_waiting_for_gdb_can_be_interrupted(environment: dict[str, str], programs: Path) -> None:
    arguments = [*COMMAND, "gdb", "--port", "0", "--", str(programs / "fail")]
    with subprocess.Popen(arguments, env=environment, stderr=subprocess.PIPE, text=True) as waiting:
        assert waiting.stderr is not None
        assert "waiting for GDB" in waiting.stderr.readline()
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(600) == -signal.SIGINT


def test_a_full_disk_costs_no_result(environment: dict[str, str], tmp_path: Path) -> None:
    """On a file system that really is full: a small one of this test's own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    script = """
        disk=$1; shift
        mount -t tmpfs -o size=48m none "$disk"
        "$@" run paths >/dev/null || exit
        cat /dev/zero >"$disk/filler" 2>/dev/null
        "$@" run osdi99-table2
        echo "status $?"
        rm "$disk/filler"
        "$@" results 'SELECT count(*) AS n FROM cells' --json
    """
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", str(disk), *COMMAND],
        env={**environment, "PAGEWALK_RESULTS": str(disk / "results.duckdb")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"the disk that holds {disk / 'results.duckdb'} is full" in done.stderr
    assert "Traceback" not in done.stderr
    said, _, kept = done.stdout.partition("\n")
    assert said == "status 123"
    assert json.loads(kept)[0]["n"] > 0


def test_a_kernel_image_boots(environment: dict[str, str]) -> None:
    done = run(environment, "boot", POWERPC.kernel, "-m", "ppc603-133", "--json")
    assert json.loads(done.stdout)["status"] == 65, "no initial RAM file system (docs/interfaces.md, section 5)"


def test_every_choice_that_an_experiment_makes_is_one_of_its_policys() -> None:
    kernels = {each.name: policies.all_policies(each) for each in architectures.ALL}
    wrong = {
        f"{experiment.name}: {name}={value}"
        for entry in experiments.names()
        for experiment in experiments.find(entry)
        for row in experiment.rows
        for side in row.sides
        for known in [kernels.get(machines.find(side.machine).architecture.name, {})]
        for name, value in side.setting.policies.items()
        if name in known and not known[name].accepts(value)
    }
    assert wrong == set()


def test_every_machine_of_an_experiment_exists() -> None:
    named = {m for entry in experiments.names() for experiment in experiments.find(entry) for m in experiment.machines}
    assert named <= set(machines.names())


def test_every_key_that_an_experiment_sets_is_its_machines() -> None:
    runner = native.NativeRunner()
    for entry in experiments.names():
        for experiment in experiments.find(entry):
            for side in (side for row in experiment.rows for side in row.sides if side.keys):
                runner.resolve(machines.find(side.machine), side.keys)


@pytest.mark.parametrize(("form", "interrupts"), [("queue", 2), ("short", 2), ("generation", 0), ("broadcast", 0)])
def test_an_unmapping_asks_every_processor_that_uses_the_memory(
    environment: dict[str, str], form: str, interrupts: int
) -> None:
    """A fork does, too: it takes the right to write from all pages. That is no flush of so many pages."""
    operation = "fork" if form == "queue" else "munmap"
    program = home().build / "user" / "bench" / "shootdown"
    words = (f"operation={operation}", "pages=4", "threads=3", "iterations=5", "warmup=1")
    counts = "counts=/proc/mmu/shootdowns"
    done = run(environment, "exec", "-m", "ppc604-200x4", "-p", f"shootdown={form}", "--", program, *words, counts)
    assert done.returncode == 0, done.stderr
    values = dict(re.findall(r"@value name=(\S+) value=(\d+)", done.stdout))
    assert (int(values["range.times"]), int(values["range.pages"])) == (5, 20)
    assert int(values["range.ipis"]) == 5 * interrupts
    assert int(values["all.pages"]) == 0
    assert int(values["all.times"]) == 5 or form != "queue"


def test_the_kernel_enables_each_processors_back_side_l2(environment: dict[str, str]) -> None:
    times = "first-beat = 10, next-beat = 3, miss = 9"
    l2 = f'{{ place = "back-side", size = 1048576, ways = 2, line = 32, replacement = "lru", {times} }}'
    program = home().build / "user" / "bench" / "shootdown"
    words = ("operation=munmap", "pages=64", "threads=2", "iterations=20")
    done = run(environment, "exec", "-m", "ppc750-400x2", "--set", f"cache.l2={l2}", "--json", "--", program, *words)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    counters = told["run_counters"]
    each = [counted["instructions"] for counted in told["processors"]]
    assert len(each) == 2
    assert all(each)
    assert sum(each) == counters["instructions"]
    missed = counters["cache.data.miss"] + counters["cache.instruction.miss"]
    assert counters["cache.l2.access"] > 0.99 * missed


def test_the_fine_lock_takes_faults_from_the_kernel_lock(environment: dict[str, str]) -> None:
    program = home().build / "user" / "bench" / "churn"
    words = ("iterations=4", "warmup=0", "report=/proc/locks/contention")
    taken = {}
    for form in ("big", "fine"):
        done = run(environment, "exec", "-m", "ppc604-185x2", "-p", f"kernel.lock={form}", "--", program, *words)
        assert done.returncode == 0, done.stderr
        taken[form] = {lock: int(n) for lock, n in re.findall(r"@value name=(\w+)\.taken value=(\d+)", done.stdout)}
    assert taken["fine"]["kernel"] < taken["big"]["kernel"] / 2
    assert taken["big"]["frames"] == 0
    assert taken["fine"]["frames"] > 0


def test_the_fine_lock_takes_copies_of_pipes_from_the_kernel_lock(environment: dict[str, str]) -> None:
    """Who waits for the lock meanwhile executes the loop of a wait."""
    program = home().build / "user" / "bench" / "pipe-bandwidth"
    words = ("iterations=1", "warmup=0", "counts=/proc/locks/contention")
    waited = {}
    for form in ("big", "fine"):
        done = run(environment, "exec", "-m", "ppc604-185x2", "-p", f"kernel.lock={form}", "--", program, *words)
        assert done.returncode == 0, done.stderr
        values = dict(re.findall(r"@value name=(\S+) value=(\d+)", done.stdout))
        waited[form] = int(values["kernel.waited_ns"])
        assert (int(values["pipe-write.taken"]) > 0) == (form == "fine")
    assert waited["fine"] < waited["big"] / 2


def test_waits_for_the_hash_table_are_counted(environment: dict[str, str]) -> None:
    """The handlers of misses and of flush requests take the lock in assembly, the rest in C."""
    program = home().build / "user" / "bench" / "churn"
    words = ("iterations=4", "warmup=0", "report=/proc/locks/contention")
    done = run(environment, "exec", "-m", "ppc604-200x4", "--", program, *words)
    assert done.returncode == 0, done.stderr
    values = dict(re.findall(r"@value name=(hash\.\w+) value=(\d+)", done.stdout))
    assert int(values["hash.taken"]) > 1000
    assert 0 < int(values["hash.contended"]) < int(values["hash.taken"])
    assert int(values["hash.waited_ns"]) > 0


@pytest.mark.parametrize(("machine", "dead"), [("ppc604-200x4", 2), ("ppc604-185x2", 1), ("ppc750-400x2", 1)])
def test_a_processor_that_does_not_start_is_named(
    environment: dict[str, str], programs: Path, machine: str, dead: int
) -> None:
    """The kernel goes on with the others, which it numbers without a gap."""
    done = run(
        environment, "exec", "-m", machine, "--set", f"board.dead-processor={dead}", "--", programs / "processors"
    )
    assert done.returncode == 0, done.stderr
    assert f"pagewalk: processor {dead} does not start" in done.stdout + done.stderr
    rest = {"ppc604-200x4": 3}.get(machine, 1)
    assert f"{rest} processors run" in done.stdout


def test_every_policy_is_described() -> None:
    found = {policy.name for policy in kernel_image.policies(POWERPC.kernel.read_bytes())}
    assert found <= set(policies.descriptions())


def test_the_page_of_policies_is_the_kernels() -> None:
    kernels = {
        (policy.name, policy.choices, policy.counter) for policy in kernel_image.policies(POWERPC.kernel.read_bytes())
    }
    page = (home().root / "docs" / "policies.md").read_text()
    cells = [line.split("|")[1:-1] for line in page.splitlines() if line.count("|") == 6 and "`" in line]
    words = [[tuple(re.findall(r"`([^`]+)`", cell)) for cell in row] for row in cells]
    assert {(name[0], choices, counter[0]) for name, _, choices, _, counter in words} == kernels


def test_a_reload_is_charged_to_reload_and_to_nothing_else(environment: dict[str, str]) -> None:
    """On a 603: what `reload` is charged is the number of misses times what one costs, to the last cycle.

    15 instructions (soft6xx/fast.S), one more for a store: 20 cycles there and 11 back (machines/ppc603-133.toml),
    15 for the handler's instructions, and what memory makes it wait. The 15: the two loads of the walk have begun in
    cycles 3 and 6, mtspr has the entry in cycle 8 and the system unit until 10, mfspr and mtcrf follow it there, tlbld
    begins in 11 and takes three, and rfi waits for it.
    """
    loads, stores, fetches = (f'count("exception.{kind}-miss")' for kind in ("dtlb-load", "dtlb-store", "itlb"))
    figures = {
        f'count("instructions.cause.reload") - 15 * ({loads} + {fetches}) - 16 * {stores}': 0,
        'count("exception.dsi") + count("exception.isi")': 0,
        f'(count("cycles.cause.reload") - count("stall.memory.cause.reload")) / ({loads} + {stores} + {fetches})': 46,
    }
    words = ["processes=2", "pages=512", "passes=8"]
    policy = ["-p", "reload=asm", "-p", "htab=bypass", "-p", "kernel.map=bat"]
    for figure, expected in figures.items():
        done = run(
            environment, "sweep", "tlb-stress", *words, "-m", "ppc603-133", *policy, "--figure", figure, "--json"
        )
        assert json.loads(done.stdout)[0]["value"] == pytest.approx(expected, abs=0.01), figure


def runs_kept(environment: dict[str, str]) -> int:
    count = run(environment, "results", "SELECT count(*) AS n FROM runs", "--json")
    return int(json.loads(count.stdout)[0]["n"])


def test_an_interrupted_experiment_goes_on_where_it_was(environment: dict[str, str], tmp_path: Path) -> None:
    of_others = runs_kept(environment)
    rows = len(experiments.find("osdi99-table2")[0].rows)
    arguments = [*COMMAND, "run", "osdi99-table2", "-j", "1"]
    with subprocess.Popen(
        arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        while process.stderr.readline().count(": done") == 0:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate()
    assert process.returncode == 130
    # The second: all runs were done, and their table was being made.
    assert "finished and kept" in complaints or "finished runs are kept" in complaints
    kept = runs_kept(environment) - of_others
    assert 0 < kept <= 2 * rows, "a fast computer may have done all before the signal arrives"
    again = run(environment, "run", "osdi99-table2")
    assert again.returncode == 0, again.stderr
    if kept < 2 * rows:
        assert f"{kept} of {2 * rows} runs are in the results already" in again.stderr
    for machine in ("ppc603-133", "ppc604-185"):
        assert machine in again.stdout
    cells = json.loads(run(environment, "run", "osdi99-table2", "--json").stdout)[0]["cells"]
    assert len(cells) == rows
    mmap = [cell for cell in cells if cell["row_name"] == "mmap latency"]
    assert all(cell["verdict"] in ("ratio reproduced", "direction reproduced") for cell in mmap)
    page = tmp_path / "report.html"
    drawn = run(environment, "report", "--json", "-o", page)
    assert drawn.returncode == 0, drawn.stderr
    assert json.loads(drawn.stdout)
    assert "osdi99-table2" in page.read_text()


def test_tuning_prints_json(environment: dict[str, str]) -> None:
    work = ["processes=4", "pages=40", "stride=1", "shared=1", "passes=1", "iterations=2"]
    words = ("--json", "--multipliers", "13", "--keep", "1")
    done = run(environment, "tune", "vsid", *words, "tlb-stress", *work)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)


def test_some_rows_without_the_others_are_said_to_be_no_table(environment: dict[str, str], tmp_path: Path) -> None:
    fresh = {**environment, "PAGEWALK_RESULTS": str(tmp_path / "fresh.duckdb")}
    done = run(fresh, "run", "lkml05-miss", "-k", "wait")
    assert done.returncode == 0, done.stderr
    assert "the other rows of lkml05-miss were never measured" in done.stderr
