"""Machines of the second architecture: their kernel, their programs, their policies, and what is refused by name."""

from __future__ import annotations

import json
import os
import re
import shlex
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SOURCE

from pagewalk import architectures, guest, images, kernel_image, machines, native, paths, policies, programs
from pagewalk.architectures import POWERPC, X86
from pagewalk.errors import BadInput, NotBuilt
from pagewalk.initramfs import Initramfs
from pagewalk.paths import Home, home
from pagewalk.placement import Placement, linked
from pagewalk.watching import Watching
from pagewalk.workshop import Workshop

COMMAND = [sys.executable, "-c", "from pagewalk.entry import main; main()"]


def test_a_machine_has_an_architecture() -> None:
    assert machines.find("i486dx-50").architecture is X86
    assert machines.find("p6-200x4").architecture is X86
    assert machines.find("ppc604-133").architecture is POWERPC


@pytest.fixture(scope="session")
def small_x86_kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kernel")
    (folder / "kernel.c").write_text(SOURCE)
    command = ["gcc", "-m32", "-nostdlib", "-static", "-no-pie", "-ffreestanding", "-o", "kernel", "kernel.c"]
    subprocess.run(command, check=True, cwd=folder)
    return folder / "kernel"


def test_a_little_endian_image_names_its_policies(small_x86_kernel: Path, small_kernel: bytes) -> None:
    found, other = (kernel_image.policies(image) for image in (small_x86_kernel.read_bytes(), small_kernel))
    assert [(p.name, p.choices, p.when, p.default) for p in found] == [
        (p.name, p.choices, p.when, p.default) for p in other
    ]


def test_an_image_says_for_which_machines_it_is(small_x86_kernel: Path) -> None:
    image = images.read(small_x86_kernel)
    images.check(image, X86)
    with pytest.raises(BadInput, match="is a kernel for x86, and the machine is big-endian PowerPC"):
        images.check(image, POWERPC)


def test_a_seed_moves_the_heap_of_a_little_endian_program(small_x86_kernel: Path) -> None:
    archive = Initramfs()
    archive.copy("/bin/program", small_x86_kernel)
    placement = Placement.of_seed(1)
    placement.apply(archive)

    def memory(data: bytes) -> int:
        (table,), (count,) = struct.unpack_from("<I", data, 28), struct.unpack_from("<H", data, 44)
        return sum(int(struct.unpack_from("<I", data, table + 32 * n + 20)[0]) for n in range(count))

    plain, moved = small_x86_kernel.read_bytes(), archive.entries["bin/program"].data
    assert memory(moved) == memory(plain) + 4096 * placement.heap


def test_what_is_not_built_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(architectures, "home", lambda: Home(tmp_path))
    monkeypatch.setattr(paths, "home", lambda: Home(tmp_path))
    with pytest.raises(NotBuilt, match="the benchmark programs for x86 is not built") as error:
        programs.names(X86)
    assert error.value.hint == "run `make x86` first"
    monkeypatch.setattr(architectures, "home", lambda: Home(tmp_path, packaged=True))
    with pytest.raises(NotBuilt) as error:
        programs.names(X86)
    assert "run `make x86` there" in (error.value.hint or "")


def test_other_peoples_programs_are_those_of_the_architecture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "home", lambda: Home(tmp_path))
    for folder in ("user", "build/user-x86", "build/programs/bin"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "build/user-x86/init").write_bytes(b"init")
    (tmp_path / "build/programs/bin/tool").write_bytes(b"tool")
    (tmp_path / "user/initramfs-tools.list").write_text("file /bin/tool ../build/programs/bin/tool 0755\n")
    with pytest.raises(NotBuilt, match="build/programs-x86/bin/tool") as error:
        programs.image([], "tools", architecture=X86)
    assert error.value.hint == "run `PROGRAMS_ARCH=x86 tests/programs/build.sh` first"
    (tmp_path / "build/programs").rename(tmp_path / "build/programs-x86")
    monkeypatch.setattr(architectures, "home", lambda: Home(tmp_path))
    assert b"bin/tool" in programs.image([], "tools", architecture=X86)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    results = tmp_path_factory.mktemp("results") / "results.duckdb"
    return {**os.environ, "PAGEWALK_HOME": str(home().root), "PAGEWALK_RESULTS": str(results)}


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.built
@pytest.mark.parametrize("policy", ["switch.time=last", "ready.queue=full", "ready.queue=lazy"])
def test_what_messages_at_the_gate_need_is_refused_on_several(environment: dict[str, str], policy: str) -> None:
    done = run(environment, "exec", "-m", "p6-200x2", "-p", policy, "-p", "ipc.path=fast", "--", "hello")
    assert f'"{policy}": has no meaning on this processor' in " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 64
    assert "the kernel did not begin with the program, so there are no costs of it" in done.stderr
    assert "by cause" not in done.stderr
    assert "kept as run" not in done.stderr


@pytest.mark.built
@pytest.mark.parametrize(
    ("form", "targets", "accesses"), [("queue", 1, 28 + 9), ("short", 1, 13), ("queue", 3, 28 + 9 + 2 * (14 + 9))]
)
def test_a_shootdown_accesses_local_apics_as_openbsds_did(
    environment: dict[str, str], form: str, targets: int, accesses: int
) -> None:
    """Of one page, by the initiator and by each target. The one in the assembly of the short form is not counted.

    A further target costs the initiator 4 for its queue and 10 for the interrupt.
    """
    forms = ("-p", f"shootdown={form}", "-p", "interrupt.level=apic")
    program = ("shootdown", "pages=1", f"threads={1 + targets}", "iterations=20", "counts=/proc/policy")
    machine = "p6-200x2" if targets == 1 else "p6-200x4"
    done = run(environment, "exec", "-m", machine, *forms, "--json", "--", *program)
    assert done.returncode == 0, done.stderr
    values = dict(re.findall(r"@value name=(\S+) value=(\d+)", json.loads(done.stdout)["output"]))
    assert int(values["shootdown.shootdowns"]) >= 20
    assert int(values["interrupt.level.accesses"]) == accesses * int(values["shootdown.shootdowns"])


@pytest.mark.built
@pytest.mark.parametrize(
    ("path", "queue", "words", "passes"),
    [("fast-apart", "lazy", (), True), ("fast-load", "lazy", (), True), ("fast-queue", "full", (), True),
     ("fast-queue", "lazy", (), False), ("fast", "full", (), False),
     ("fast-calls", "lazy", ("calls=separate",), True), ("fast-memory", "lazy", ("by=memory",), True)],
)  # fmt: skip
def test_messages_pass_at_the_gate_without_one_technique(
    environment: dict[str, str], path: str, queue: str, words: tuple[str, ...], passes: bool
) -> None:
    """And not at the gate where the ready queue is not the form's: then each message takes many more instructions."""
    choices = {"entry": "lean", "switch.time": "last", "segments": "check", "ipc.switch": "direct"}
    choices |= {"ipc.path": path, "ready.queue": queue}
    policies = [word for name, choice in choices.items() for word in ("-p", f"{name}={choice}")]
    counts = []
    for iterations in (100, 400):  # in less than a tick
        program = ("ipc", f"iterations={iterations}", *(words or ("warmup=5",)))
        done = run(environment, "exec", "-m", "i486dx-50", *policies, "--json", "--", *program)
        assert done.returncode == 0, done.stderr
        counts.append(json.loads(done.stdout)["counters"]["instructions"])
    assert ((counts[1] - counts[0]) / 300 < 300) == passes


@pytest.mark.built
def test_a_queue_has_jobs_of_its_own_processor_too(environment: dict[str, str]) -> None:
    """Each page that a program touches first is one: 7 accesses to queue it, and 7 to run the queue."""
    program = ("shootdown", "pages=4", "threads=1", "iterations=20")
    own, accesses = {}, {}
    for form in ("queue", "queue+own"):
        policies = ("-p", f"shootdown={form}", "-p", "interrupt.level=apic")
        for path in ("/proc/mmu/shootdowns", "/proc/policy"):
            done = run(environment, "exec", "-m", "p6-200x2", *policies, "--json", "--", *program, f"counts={path}")
            assert done.returncode == 0, done.stderr
            values = dict(re.findall(r"@value name=(\S+) value=(\d+)", json.loads(done.stdout)["output"]))
            if "own" in values:
                own[form] = int(values["own"])
            else:
                accesses[form] = int(values["interrupt.level.accesses"])
    assert own["queue"] == 0
    assert own["queue+own"] >= 4 * 20
    assert accesses["queue+own"] - accesses["queue"] == (7 + 7) * own["queue+own"]


@pytest.mark.built
def test_a_large_range_asks_a_processor_that_never_ran_the_program(environment: dict[str, str]) -> None:
    asked = {}
    for form in ("short", "short+all"):
        program = ("mmap-latency", "iterations=20", "counts=/proc/mmu/shootdowns")
        done = run(environment, "exec", "-m", "p6-200x2", "-p", f"shootdown={form}", "--json", "--", *program)
        assert done.returncode == 0, done.stderr
        values = dict(re.findall(r"@value name=(\S+) value=(\d+)", json.loads(done.stdout)["output"]))
        asked[form] = int(values["all.ipis"])
    assert asked["short"] == 0
    assert asked["short+all"] >= 20


@pytest.mark.built
@pytest.mark.parametrize("machine", ["i486dx-50", "p6-200"])
def test_a_program_runs_on_an_x86(environment: dict[str, str], machine: str) -> None:
    done = run(environment, "exec", "-m", machine, "-p", "segments=check", "--json", "--", "hello")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["output"].splitlines()[-1] == "hello"
    booted = run(environment, "boot", str(X86.kernel), "-m", machine, "--", str(X86.user / "hello"))
    assert (booted.returncode, booted.stdout.splitlines()[-1]) == (0, "hello")


@pytest.mark.built
@pytest.mark.parametrize("machine", ["i486dx-50", "p6-200", "p6-200x2"])
def test_a_run_of_an_x86_is_seen(environment: dict[str, str], tmp_path: Path, machine: str) -> None:
    page = tmp_path / "see.html"
    done = run(environment, "see", "-m", machine, "-o", str(page), "--misses", "60", "--json", "--", "hello")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["shown"] == 60
    embedded = page.read_text().partition('<script type="application/json" id="data">')[2].partition("</script>")[0]
    data = json.loads(embedded)
    assert data["kind"] == "radix"
    sides = {name.rpartition(", ")[2] for name in data["tlb"]}
    assert sides == ({"unified"} if machine == "i486dx-50" else
                     {"instruction", "data", "instruction-large", "data-large"})  # fmt: skip
    assert all(set(instant["tlb"]) == set(data["tlb"]) for instant in data["instants"])
    owners = {row[5] for instant in data["instants"] for rows in instant["tlb"].values() for row in rows}
    assert owners == {"kernel", "running"}
    assert data["flushes"]
    assert {step["table"] for miss in data["misses"] for step in miss["walk"]} == {"level 1", "level 2"}
    loaded = [miss for miss in data["misses"] if "way" in miss]
    assert any("victim" in miss for miss in loaded)
    assert all(miss["cycles"] > 0 and len(miss["ways"]) in {2, 4} for miss in data["misses"])


@pytest.mark.built
def test_a_trace_of_an_x86_is_written(environment: dict[str, str], tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    done = run(environment, "trace", "-m", "p6-200", "-o", str(trace), "--", "hello")
    assert done.returncode == 0, done.stderr
    events = json.loads(trace.read_text())["traceEvents"]
    named = {event["name"] for event in events}
    assert {"tlb.data.miss", "tlb.instruction.miss", "#PF", "region 65536"} <= named
    refused = run(environment, "trace", "-m", "p6-200", "-o", str(trace), "--window", "7", "--", "hello")
    assert refused.returncode == 2
    assert refused.stderr.startswith("pagewalk: --window: ")


@pytest.mark.built
def test_a_program_on_an_x86_is_watched_step_by_step() -> None:
    program = guest.Program(X86.built(X86.user / "hello", "the user programs"), ())
    job = guest.job(Workshop(native.NativeRunner()), "p6-200", program, overrides={}, settings={})
    watched, plain = Watching(native.load(job), job), native.load(job)
    watched.skip_boot("/bin/hello")
    for kind, word in (("miss", "TLB miss at"), ("exception", "exception"), ("switch", "switch from")):
        watched.step(kind)  # type: ignore[arg-type]
        assert word in watched.event
    view = watched.view()
    assert "k" in "".join(view.tlbs["processor 0, data" if watched.machine.processors > 1 else "data"])
    assert view.hash_table == []
    while watched.ended is None:
        watched.run()
    native.go(plain, job.limit, lambda _: True)
    assert watched.machine.counters() == plain.counters()


@pytest.mark.built
def test_the_state_of_an_x86_machine_is_shown(environment: dict[str, str]) -> None:
    done = run(environment, "dump", "-m", "i486dx-50", "--at", "1000000", "--", "hello")
    assert done.returncode == 0, done.stderr
    assert "CR3" in done.stdout
    assert "TLB: unified" in done.stdout
    refused = run(environment, "dump", "-m", "i486dx-50", "--registers", "--", "hello")
    assert refused.returncode == 126
    assert refused.stderr.startswith("pagewalk: only an MPC8xx")
    shown = run(environment, "dump", "-m", "p6-200x2", "--json", "--", "hello")
    assert [state["processor"] for state in json.loads(shown.stdout)] == [0, 1]


@pytest.mark.built
def test_gdb_of_a_snapshot_names_the_kernel_of_its_architecture(environment: dict[str, str], tmp_path: Path) -> None:
    snapshot = tmp_path / "hello.snapshot"
    saved = run(environment, "exec", "-m", "p6-200", "--save", str(snapshot), "--at", "1000000", "--", "hello")
    assert saved.returncode == 0, saved.stderr
    command = [*COMMAND, "gdb", "--from", str(snapshot), "--port", "0"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as served:
        assert served.stderr is not None
        waiting = served.stderr.readline()
        served.kill()
    assert f"gdb-multiarch {shlex.quote(str(X86.kernel))} -ex" in waiting


@pytest.mark.built
def test_gdb_debugs_a_program_on_an_x86(environment: dict[str, str]) -> None:
    command = [*COMMAND, "gdb", "-m", "p6-200", "--port", "0", "--", str(X86.user / "hello")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True) as served:
        assert served.stderr is not None
        waiting = served.stderr.readline()
        found = re.search(r"gdb-multiarch (.+) -ex 'target remote :(\d+)'", waiting)
        assert found, waiting
        assert shlex.split(found[1]) == [str(X86.kernel)]
        script = [f"target remote 127.0.0.1:{found[2]}", "break main", "continue", "print $cpl", "delete", "continue"]
        words = [word for line in script for word in ("-ex", line)]
        gdb = ["gdb-multiarch", "-nx", "-batch", str(X86.user / "hello"), *words]
        done = subprocess.run(gdb, capture_output=True, text=True, check=False, timeout=1200)
        printed, _ = served.communicate(timeout=1200)
    assert "$1 = 3" in done.stdout, done.stdout + done.stderr
    assert printed.splitlines()[-1] == "hello"


@pytest.mark.built
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ["-m", "i486dx-50", "--", str(home().build / "user" / "hello")],
            "big-endian (PowerPC); the machine is little",
        ),
        (["-m", "ppc604-133", "--", str(X86.user / "hello")], "is little-endian (i386); the machine is big-endian"),
        (["-m", "i486dx-50", "-p", "vsid=pid", "--", "hello"], "vsid is one of the kernel for PowerPC"),
        (["-m", "ppc604-133", "-p", "segments=check", "--", "hello"], "segments is one of the kernel for x86"),
        (["-m", "i486dx-50", "-p", "kernel.map=bat", "--", "hello"], "choices: pte, large, global, large+global"),
        (["-m", "i486dx-50", "--kernel", str(POWERPC.kernel), "--", "hello"], "is a kernel for PowerPC"),
        (["-m", "ppc604-133", "--kernel", str(X86.kernel), "--", "hello"], "is a kernel for x86"),
    ],
)
def test_what_is_for_the_other_architecture_is_refused(
    environment: dict[str, str], arguments: list[str], complaint: str
) -> None:
    done = run(environment, "exec", *arguments)
    assert done.returncode == (2 if "-p" in arguments else 126), done.stderr
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.built
def test_every_policy_of_the_x86_kernel_is_described() -> None:
    found = {policy.name for policy in kernel_image.policies(X86.kernel.read_bytes())}
    assert {"segments", "ipc.window", "switch.time"} <= found <= set(policies.descriptions())


@pytest.mark.built
def test_the_page_of_policies_has_those_of_the_x86_kernel() -> None:
    page = (home().root / "docs" / "policies.md").read_text()
    for policy in kernel_image.policies(X86.kernel.read_bytes()):
        assert re.search(rf"^\| `{re.escape(policy.name)}` ", page, re.MULTILINE), policy.name


@pytest.mark.built
@pytest.mark.parametrize("processors", [1, 2])
def test_a_seed_links_the_x86_kernel_in_another_order(processors: int) -> None:
    plain = X86.image(processors)
    moved = linked(plain.parent, plain.name, Placement.of_seed(1), X86)
    assert moved.read_bytes() != plain.read_bytes()
    assert images.read(moved).architecture is X86
