"""Kernel images of a person's own: what they are, the roles they have, and what an experiment keeps of them."""

from __future__ import annotations

import gzip
import io
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from scripted import BenchLab, ScriptedRunner, benchmark

from pagewalk import (
    architectures,
    claims_page,
    experiments,
    images,
    measured,
    memories,
    native,
    own_page,
    programs,
    records,
    systems,
)
from pagewalk.cli import own_images
from pagewalk.cli.app import command
from pagewalk.errors import BadInput
from pagewalk.paths import home
from pagewalk.runner import Job, RunResult
from pagewalk.simulate import Quiet
from pagewalk.store import Store
from pagewalk.workshop import Workshop

BANNER = "Linux version 2.4.99 (someone@somewhere) (gcc version 2.95) #1 today"
SOURCE = """
const char banner[] = "%s\\n";
void _start(void) { }
void schedule(void) { }
void DataTLBMiss(void) { }
unsigned short threshold = 64;
unsigned long empty[3];
"""
CONFIG = 'CONFIG_8xx=y\n# CONFIG_PIN_TLB is not set\nCONFIG_CMDLINE=""\n'
EXPERIMENT = """
title = "t"
document = "lkml05"
section = "s"
about = "a"
[images.old]
kernel = "Linux 2.4 of a test"
version = "2.4"
options = { CONFIG_8xx = "y" }
facts = ["CONFIG_PIN_TLB"]
board = "prep"
protocol = "residual-data"
words = ["one=two"]
sysctl = { "vm/x" = "30" }
[images.new]
kernel = "Linux 2.6 of a test"
version = "2.6"
board = "prep"
protocol = "residual-data"
[settings.before]
label = "old"
image = "old"
[settings.after]
label = "new"
image = "new"
[[machine]]
name = "ppc604-185"
claim = "nothing"
[[row]]
name = "call, old"
program = "null-call"
before = "nothing"
after = "before"
figure = "us"
unit = "us"
better = "lower"
[[row]]
name = "call"
program = "null-call"
figure = "us"
unit = "us"
better = "lower"
counterpart = "osdi99-table2/mmap latency"
"""


Make = Callable[[str], Path]


@pytest.fixture(scope="session")
def make_kernel(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """Makes an ELF file with that banner."""

    def make(banner: str) -> Path:
        folder = tmp_path_factory.mktemp("kernel")
        (folder / "k.c").write_text(SOURCE % banner)
        subprocess.run(
            ["powerpc-linux-gnu-gcc", "-nostdlib", "-static", "-o", str(folder / "vmlinux"), str(folder / "k.c")],
            check=True,
        )
        return folder / "vmlinux"

    return make


@pytest.fixture(scope="session")
def kernel(make_kernel: Make) -> Path:
    return make_kernel(BANNER)


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    path = tmp_path / "mine-own.toml"
    path.write_text(EXPERIMENT)
    return path


def test_an_image_tells_what_it_is_without_its_builder(kernel: Path) -> None:
    image = images.read(kernel)
    assert image.banner == "Linux version 2.4.99 (gcc version 2.95) #1 today"
    assert image.version == "2.4.99"
    assert image.is_old
    assert image.facts(["CONFIG_8xx"]) == {}


def test_causes_are_those_whose_functions_it_has(kernel: Path, tmp_path: Path) -> None:
    assert images.read(kernel).causes() == '[reload]\nsymbols = ["DataTLBMiss"]\n[switch]\nsymbols = ["schedule"]\n'
    stripped = tmp_path / "stripped"
    subprocess.run(["powerpc-linux-gnu-strip", "-o", str(stripped), str(kernel)], check=True)
    assert images.read(stripped).causes() == ""


def test_a_configuration_is_named_or_in_the_image(kernel: Path, tmp_path: Path) -> None:
    config = tmp_path / ".config"
    config.write_text(CONFIG)
    wanted = {"CONFIG_8xx": "y", "CONFIG_PIN_TLB": "n", "CONFIG_NONE": "n"}
    assert images.read(kernel, config).facts(wanted) == wanted
    inside = tmp_path / "vmlinux"
    inside.write_bytes(kernel.read_bytes() + b"IKCFG_ST" + gzip.compress(CONFIG.encode()) + b"IKCFG_ED" + bytes(99))
    assert images.read(inside).facts(wanted) == wanted
    inside.write_bytes(kernel.read_bytes() + b"IKCFG_ST\x1f\x8b damaged")
    assert images.read(inside).facts(wanted) == {}


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "is empty"),
        (b"text", "not an ELF file"),
        (b"\x7fELF", "a damaged or cut off ELF file"),
        (gzip.compress(b"x"), r"compressed \(gzip\)"),
        (b"\x28\xb5\x2f\xfd" + bytes(60), r"compressed \(zstd\)"),
        (b"\x02\x21\x4c\x18" + bytes(60), r"compressed \(lz4\)"),
        (b"\x89LZO" + bytes(60), r"compressed \(lzo\)"),
        (b"\x27\x05\x19\x56" + bytes(60), "mkimage"),
    ],
)
def test_what_is_no_image_is_refused(data: bytes, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(BadInput, match=complaint):
        images.read(tmp_path / "x")


@pytest.mark.parametrize("kept", [60, -40])
def test_a_cut_off_image_is_refused(kept: int, kernel: Path, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(kernel.read_bytes()[:kept])
    with pytest.raises(BadInput, match="a damaged or cut off ELF file"):
        images.read(tmp_path / "x")


def test_a_linux_without_a_program_restarts_its_board_when_it_panics(kernel: Path, tmp_path: Path) -> None:
    old = images.read(kernel)
    assert systems.bare_line(old, "") == "panic=1"
    assert systems.bare_line(old, "root=/dev/ram0 -- word") == "panic=1 root=/dev/ram0 -- word"
    assert systems.bare_line(old, "panic=0 quiet") == "panic=0 quiet"
    today = images.Image("x", b"Linux version 6.1.192")
    with pytest.raises(BadInput, match="not an ELF file"):
        systems.bare_line(today, "")
    today = images.Image("x", kernel.read_bytes().replace(b"Linux version 2.4.99", b"Linux version 6.1.99"))
    assert systems.bare_line(today, "quiet") == "panic=-1 quiet"
    assert systems.bare_line(images.Image("x", b"no Linux"), "quiet") == "quiet"


def test_a_linux_gets_the_board_that_it_is_for(kernel: Path) -> None:
    def board(machine: str, data: bytes, **overrides: str) -> tuple[str, str]:
        image = images.Image("x", data)
        found = systems.on_board(Workshop(native.NativeRunner()), machine, overrides, image)
        file = tomllib.loads(found.config)["board"]
        return file["kind"], file["empty-bus"]

    plain, of_8xx = kernel.read_bytes(), kernel.read_bytes() + b"\0 8xx SIU  \0"
    assert board("mpc855t-48", of_8xx)[0] == "fads"
    assert board("mpc855t-48", of_8xx, **{"board.kind": "mpc8xx"})[0] == "mpc8xx"
    # One that may read a device tree, and one that does not tell.
    usual = board("mpc855t-48", b"")[0]
    assert board("mpc855t-48", of_8xx + b"linux,initrd-start\0")[0] == usual
    assert board("mpc855t-48", plain)[0] == usual
    assert board("ppc604-133", plain) == ("prep", "ones")
    assert board("ppc604-133", plain, **{"board.empty-bus": "machine-check"}) == ("prep", "machine-check")
    assert board("ppc604-133", of_8xx) == ("prep", "ones")


def test_sysctl_is_for_a_setting_with_an_image_of_ones_own(experiment: Path) -> None:
    text = experiment.read_text()
    experiment.write_text(
        text.replace('image = "new"\n[[machine]]', 'image = "new"\nsysctl = { "a/b" = "1" }\n[[machine]]')
    )
    assert experiments.load(experiment).rows[1].after.setting.sysctl == {"a/b": "1"}
    experiment.write_text(text.replace('image = "new"\n[[machine]]', 'sysctl = { "a/b" = "1" }\n[[machine]]'))
    with pytest.raises(BadInput, match="sysctl goes with an image whose root is a RAM disk"):
        experiments.load(experiment)


def test_a_variable_of_a_kernel_gets_another_value(kernel: Path) -> None:
    data = kernel.read_bytes()
    changed = images.with_symbols("it", data, {"threshold": 0x1234})
    assert [(a, b) for a, b in zip(data, changed, strict=True) if a != b] == [(0, 0x12), (64, 0x34)]
    for values, complaint in [
        ({"threshol": 1}, "threshol"),
        ({"threshold": 0x10000}, "threshold has 2 bytes, and 65536 does not fit"),
        ({"empty": 1}, "empty is no variable"),
        ({"schedule": 1}, "schedule is no variable"),
    ]:
        with pytest.raises(BadInput, match=complaint):
            images.with_symbols("it", data, values)


def test_symbols_are_of_a_subject(experiment: Path) -> None:
    text = experiment.read_text()
    experiment.write_text(text.replace('image = "new"\n[[machine]]', "symbols = { a = 1 }\n[[machine]]"))
    with pytest.raises(BadInput, match="symbols go with a subject"):
        experiments.load(experiment)


def test_a_program_of_this_computer_is_no_kernel() -> None:
    with pytest.raises(
        BadInput, match="a big-endian 32-bit PowerPC, a 32-bit x86 or a 64-bit RISC-V: it is a 64-bit little"
    ):
        images.read(Path(sys.executable).resolve())


def test_another_kind_of_elf_file_is_refused_by_what_it_is(kernel: Path, tmp_path: Path) -> None:
    def build(*words: str) -> Path:
        subprocess.run(
            ["powerpc-linux-gnu-gcc", *words, "-c", "-o", "x.o", kernel.with_name("k.c")], cwd=tmp_path, check=True
        )
        return tmp_path / "x.o"

    with pytest.raises(BadInput, match="it is a 32-bit little-endian file for PowerPC"):
        images.read(build("-mlittle"))
    with pytest.raises(BadInput, match="is an ELF file that is not linked to run at fixed addresses"):
        images.read(build())


def test_a_folder_is_answered_with_what_to_name(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as error:
        images.read(tmp_path)
    assert "is a directory; name the kernel's own ELF file" in error.value.explained


@pytest.mark.parametrize(
    ("words", "configurations", "complaint"),
    [
        (["old"], [], "names no role and file"),
        (["=x"], [], "names no role and file"),
        (["old="], [], "names no role and file"),
        (["old=a", "old=b"], [], "named twice: a and b"),
        (["odl=a"], [], "unknown role of an image 'odl'"),
        (["old=/nowhere/vmlinux"], [], "No such file"),
        (["old=/dev/zero"], [], "not a regular file"),
        (["old={kernel}"], ["new=x"], "but no image"),
        (["old={kernel}"], ["old={kernel}"], "is no configuration"),
    ],
)
def test_wrong_words_are_told(words: list[str], configurations: list[str], complaint: str, kernel: Path) -> None:
    named, configured = ([word.format(kernel=kernel) for word in some] for some in (words, configurations))
    with pytest.raises(BadInput, match=complaint):
        images.from_words(named, configured, ["old", "new"])


def test_an_experiment_says_which_images_it_wants(
    experiment: Path, kernel: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def run(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["pagewalk", "run", *words])
        monkeypatch.setenv("PAGEWALK_RESULTS", str(tmp_path / "r.duckdb"))
        return command(), capfd.readouterr().err

    status, said = run("lkml05-own")
    assert status == 2
    assert "--image v2.4=PATH  Linux 2.4 for an MPC8xx" in said
    status, said = run("paths", "--image", f"old={kernel}")
    assert status == 2
    assert "none of these experiments takes an image" in said
    status, said = run(str(experiment), "--image", f"new={kernel}")
    assert status == 126
    assert "the experiment wants Linux 2.6 of a test" in said
    (tmp_path / "config").write_text("CONFIG_6xx=y\n")
    status, said = run(str(experiment), "--image", f"old={kernel}", "--image-config", f"old={tmp_path / 'config'}")
    assert status == 126
    assert "CONFIG_8xx=n, and the experiment wants CONFIG_8xx=y" in said


def test_an_experiment_wants_symbols(experiment: Path, kernel: Path, tmp_path: Path) -> None:
    stripped = tmp_path / "stripped"
    subprocess.run(["powerpc-linux-gnu-strip", "-o", str(stripped), str(kernel)], check=True)
    wanted = experiments.load(experiment).images["old"]
    assert images.wrong(images.read(kernel), wanted) is None
    assert "has no symbols" in (images.wrong(images.read(stripped), wanted) or "")


def test_a_pair_differs_in_nothing_but_its_switch(
    experiment: Path, kernel: Path, make_kernel: Make, tmp_path: Path
) -> None:
    text = EXPERIMENT.replace("2.6", "2.4").replace("[images.new]", '[images.new]\npair = "old"')
    experiment.write_text(text)
    mine = experiments.load(experiment)
    configurations = []
    for role, options in (("old", CONFIG), ("new", CONFIG.replace('CONFIG_CMDLINE=""', "CONFIG_SMP=y"))):
        (tmp_path / role).write_text(options)
        configurations.append(f"{role}={tmp_path / role}")
    both = [f"old={kernel}", f"new={kernel}"]
    assert list(own_images.chosen([mine], both, [])) == ["old", "new"]
    with pytest.raises(BadInput, match=r'must differ in one switch alone.*CONFIG_CMDLINE=n against "", CONFIG_SMP=y'):
        own_images.chosen([mine], both, configurations)
    other = make_kernel(BANNER.replace("2.4.99", "2.4.98"))
    with pytest.raises(BadInput, match=r"is Linux 2\.4\.98, and .* 2\.4\.99"):
        own_images.chosen([mine], [f"old={kernel}", f"new={other}"], [])
    experiment.write_text(text.replace('pair = "old"', 'pair = "older"'))
    with pytest.raises(BadInput, match="'older'"):
        experiments.load(experiment)


def test_an_image_must_suit_every_experiment_that_has_its_role(experiment: Path, kernel: Path) -> None:
    both = [*experiments.find("osdi99-own"), *experiments.find("ols03-own")]
    with pytest.raises(BadInput, match=r"the image for before of osdi99-own: .* wants an early Linux 2.1 for PReP"):
        own_images.chosen(both, [f"before={kernel}"], [])
    mine = experiments.load(experiment)
    assert list(own_images.chosen([mine], [f"old={kernel}"], [])) == ["old"]


def called(cycles: int) -> Callable[[Job], RunResult]:
    return lambda _: benchmark("null-call", {"user": cycles})


def test_a_row_runs_its_images_and_the_table_keeps_them(
    experiment: Path, kernel: Path, make_kernel: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text(CONFIG)
    newer = make_kernel(BANNER.replace("2.4.99", "2.6.1"))
    named = images.from_words([f"old={kernel}", f"new={newer}"], [f"old={tmp_path / 'config'}"], ["old", "new"])
    loaded = experiments.load(experiment)
    monkeypatch.setattr(measured, "place", lambda name: tmp_path / f"{name}.json")
    with Store(tmp_path / "r.duckdb") as store:
        runner = ScriptedRunner(called(1000))
        lab = BenchLab(runner, store, images=named)
        lab.experiment(loaded, Quiet(), seeds=2)
        assert len(runner.ran) == 4, "each placement moves frames and heaps"
        assert {job.kernel for job in runner.ran} == {kernel.read_bytes(), newer.read_bytes()}
        old = next(job for job in runner.ran if job.kernel == kernel.read_bytes())
        assert old.protocol == "residual-data"
        assert old.command_line.startswith("root=/dev/ram0 rw ")
        assert old.command_line.endswith("console=ttyS0 one=two")
        assert b"/bin/null-call\0" in old.initrd
        new = next(job for job in runner.ran if job.kernel == newer.read_bytes())
        assert (b"vm/x 30\n" in old.initrd, b"vm/x 30\n" in new.initrd) == (True, False)
        facts = {"CONFIG_8xx": "y", "CONFIG_PIN_TLB": "n"}
        assert store.image(named["old"].sha256) == (named["old"].banner, facts)

        table = json.loads(measured.write(store, loaded).read_text())
        assert table["images"]["old"]["sha256"] == named["old"].sha256
        assert [len(row["pairs"]) for row in table["rows"]] == [2] * len(table["rows"]), "one for each placement"
        assert table["rows"][1]["sides"][1]["counters"] == {"cycles": 1000, "cycles.cause.user": 1000}
        page = "\n".join(own_page.section(store, loaded))
        assert named["old"].sha256 in page
        assert "CONFIG_PIN_TLB=n" in page
        assert "somewhere" not in page
        assert "have not been measured yet" not in page

        table["rows"].pop()
        (tmp_path / f"{loaded.name}.json").write_text(json.dumps(table))
        page = "\n".join(own_page.section(store, loaded))
        assert f"These are {len(loaded.rows) - 1} of the experiment's {len(loaded.rows)} rows." in page


def test_a_kept_row_has_the_verdict_that_other_inputs_leave_it(
    experiment: Path, kernel: Path, make_kernel: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment.write_text(f'{EXPERIMENT}claim = "lkml05.pin"\n')
    newer = make_kernel(BANNER.replace("2.4.99", "2.6.1"))
    named = images.from_words([f"old={kernel}", f"new={newer}"], [], ["old", "new"])
    loaded = experiments.load(experiment)
    monkeypatch.setattr(measured, "place", lambda name: tmp_path / f"{name}.json")

    def script(job: Job) -> RunResult:
        return called(1000 if job.kernel == newer.read_bytes() else 1230)(job)

    with Store(tmp_path / "r.duckdb") as store:
        lab = BenchLab(ScriptedRunner(script), store, images=named)
        lab.experiment(loaded, Quiet(), seeds=2)
        memories.compare(lab, [loaded], Quiet(), extremes=True)
        table = json.loads(measured.write(store, loaded).read_text())
    row = next(row for row in table["rows"] if row["claims"])
    assert [one["variant"] for one in row["tried"]][:1] == ["as in the file"]
    kept = measured.read(loaded)
    assert kept is not None
    assert next(found for found in kept.rows if found.claims).inputs == "1.23"
    own = row["tried"][0]
    slow = own | {"variant": "all slowest", "before": own["after"] * 1.1, "ratio": 1.1}
    row["tried"] = [own, slow]
    (tmp_path / f"{loaded.name}.json").write_text(json.dumps(table))
    kept = measured.read(loaded)
    assert kept is not None
    judged = next(found for found in kept.rows if found.claims)
    assert (judged.verdict, judged.inputs.split(",")[0]) == ("direction reproduced", "1.1 to 1.23")
    assert judged.reason.startswith("ratio reproduced with the files' inputs; direction reproduced with all slowest; ")


def test_a_part_of_a_table_does_not_replace_the_whole(experiment: Path, tmp_path: Path) -> None:
    loaded = experiments.load(experiment)
    with Store(tmp_path / "r.duckdb") as store, pytest.raises(BadInput, match="rows were never measured"):
        measured.write(store, loaded)
    assert not (tmp_path / f"{loaded.name}.json").exists()


def test_rows_without_their_image_are_told_and_the_rest_is_kept(experiment: Path, kernel: Path, tmp_path: Path) -> None:
    loaded = experiments.load(experiment)
    with Store(tmp_path / "r.duckdb") as store:
        lab = BenchLab(ScriptedRunner(called(1000)), store, images={"old": images.read(kernel)})
        lab.experiment(loaded, Quiet(), rows=[row for row in loaded.rows if row.images == ("old",)])
        cells = records.cells(store, loaded.name)
        assert [cell.verdict for cell in cells] == ["measured", "no figure"] or cells[1].reason
        assert "no image had the role new" in cells[1].reason


@pytest.mark.parametrize(
    ("good", "bad", "complaint"),
    [
        ('image = "new"', 'image = "nwe"', "did you mean 'new'"),
        ('protocol = "residual-data"', 'protocol = "x"', "images.old.protocol"),
        ('kernel = "Linux 2.4 of a test"', 'kernels = "x"', "unknown key, did you mean 'kernel'"),
        ('"osdi99-table2/mmap latency"', '"osdi99-table2"', "EXPERIMENT/ROW"),
    ],
)
def test_a_wrong_file_is_refused(experiment: Path, good: str, bad: str, complaint: str) -> None:
    experiment.write_text(EXPERIMENT.replace(good, bad))
    with pytest.raises(BadInput) as error:
        experiments.load(experiment)
    assert complaint in error.value.explained


def test_every_counterpart_exists() -> None:
    for name in experiments.names():
        for found in experiments.find(name):
            for row in found.rows:
                own_page.counterpart(found, row)


def test_kept_tables_are_whole() -> None:
    """What the checkout keeps can be read, and belongs to an experiment."""
    for path in sorted((home().experiments / "measured").glob("*.json")):
        (found,) = experiments.find(path.stem)
        table = measured.read(found)
        assert table is not None
        assert {row.row_name for row in table.rows} <= {row.name for row in found.rows}
        assert set(table.images) <= set(found.images)


def test_a_kept_table_is_judged_by_the_rules_of_today(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own,) = experiments.find("osdi99-own")
    kept = json.loads(measured.place(own.name).read_text(encoding="utf-8"))
    wanted = ("BATs: process start", "ppc604-133")
    row = next(row for row in kept["rows"] if (row["row_name"], row["machine"]) == wanted)
    row |= {"verdict": "ratio reproduced", "reason": "told long ago"}
    monkeypatch.setattr(measured, "place", lambda name: tmp_path / f"{name}.json")

    def judged(low: float, ratio: float, high: float) -> measured.MeasuredRow:
        after = row["after"]
        row.update(low=low, ratio=ratio, high=high, before=after * ratio)
        row["pairs"] = [(after * factor, after) for factor in (low, ratio, high)]
        measured.place(own.name).write_text(json.dumps(kept), encoding="utf-8")
        table = measured.read(own)
        assert table is not None
        return next(found for found in table.rows if (found.row_name, found.machine) == wanted)

    assert judged(1.0, 1.002, 1.004).verdict == "no change, as published"
    assert judged(1.06, 1.07, 1.08).verdict == "not reproduced"
    assert judged(0.99, 1.0, 1.02).verdict == "no change, as published", "the placements differ more than the sides"
    assert re.search(r"kernel [\d,]+ -> [\d,]+", judged(1.02, 1.03, 1.04).reason)


def test_a_page_without_a_kept_table_says_how_to_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "place", lambda name: tmp_path / f"{name}.json")
    with Store(tmp_path / "r.duckdb") as store:
        page = claims_page.build(store, "lkml05")
    assert "pagewalk run lkml05-own --image v2.4=PATH" in page
    assert "Not measured yet." in page


def test_an_old_panic_is_found() -> None:
    console = b"x\r\nKernel panic: VFS: Unable to mount root fs on 01:00\r\n"
    needs = "to mount a RAM disk, it needs CONFIG_BLK_DEV_INITRD, CONFIG_BLK_DEV_RAM and CONFIG_EXT2_FS"
    assert systems.panic(console) == f"VFS: Unable to mount root fs on 01:00: {needs}"
    console = console.replace(b"panic:", b"panic - not syncing:").replace(b"01:00", b"unknown-block(1,0)")
    assert systems.panic(console) == f"VFS: Unable to mount root fs on unknown-block(1,0): {needs}"


def test_a_built_program_is_found_for_each_root() -> None:
    assert programs.find("dd", "ext2") == home().build / "user" / "old" / "dd"
    assert programs.find("dd") == home().build / "user" / "bench" / "dd"


_LONGEST_LINE = {"PowerPC": 128, "x86": 32}
"""Bytes of the longest cache line of an architecture's machines: the 970's, the P6's."""


@pytest.mark.parametrize("architecture", architectures.ALL, ids=lambda architecture: architecture.name)
def test_no_cache_line_holds_code_of_two_causes(architecture: architectures.Architecture) -> None:
    """The machine charges whole lines of code to a cause."""
    image = ELFFile(io.BytesIO(architecture.kernel.read_bytes()))
    table = image.get_section_by_name(".symtab")
    assert isinstance(table, SymbolTableSection)
    ends = {name.name: name["st_value"] for name in table.iter_symbols() if name.name.startswith("__cause_")}
    crooked = [name for name, at in ends.items() if at % _LONGEST_LINE[architecture.name]]
    assert ends
    assert crooked == []
