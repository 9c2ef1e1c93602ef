"""The compile workload: a file that cannot be compiled fails the whole job, so that no row times it. Every claim on a
compile stands at one and the same, GCC's.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from pagewalk import claims, experiment_file, experiments, programs
from pagewalk.errors import NotBuilt
from pagewalk.paths import Home, home

_COMPILER = """#!/bin/sh
for word; do
    case $word in
    *broken.c) exit 1 ;;
    esac
done
while [ "$1" != -o ]; do
    shift
done
echo object >"$2"
"""


@pytest.mark.parametrize(
    ("script", "shell", "compiler"), [("compile.sh", "sh", "i386-tcc"), ("gcc-job.sh", "bash", "gcc")]
)
@pytest.mark.parametrize("broken", [False, True])
def test_a_job_fails_if_a_file_cannot_be_compiled(
    script: str, shell: str, compiler: str, *, broken: bool, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / compiler).write_text(_COMPILER)
    (tmp_path / "bin" / compiler).chmod(0o755)
    (tmp_path / "source").mkdir()
    for name in ("first", "lua", "broken" if broken else "second", "third", "fourth"):
        (tmp_path / "source" / f"{name}.c").touch()
    job = home().root / "user" / "bench" / "compile" / script
    done = subprocess.run(
        [shell, str(job), "2", str(tmp_path / "source"), str(tmp_path / "output"), "0"],
        env={"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode != 0) == broken, done.stderr


_WORKLOAD = {"script": "/bench/gcc-job.sh", "source": "/usr/src/chown", "jobs": "1", "wait": "20000", "warmup": "1"}
_OWN = {
    "osdi99.zombie.evict-ratio": "its table is filled before",
    "osdi99.zombie.hash-hit-rate": "its table is filled before",
}
"""Claims whose compile has more compiles before it, and why."""


def test_every_claim_on_a_compile_stands_at_the_same_compile() -> None:
    documents = ("osdi99", "ols03")
    rows = [
        row
        for document in documents
        for experiment in experiments.find(document)
        for row in experiment.rows
        if row.program == "compile" and row.published.claims and row.after.machine != "ppc405-200"
    ]
    assert rows
    for row in rows:
        given = experiment_file.given(row.arguments)
        wanted = dict(_WORKLOAD)
        if {claim.id for claim in row.published.claims} & set(_OWN):
            wanted["warmup"] = "6"
        if "file.wait" in row.after.setting.policies:  # it waits in the place of the program
            del wanted["wait"]
        assert row.initramfs == "gcc", row.name
        assert {name: value for name, value in given.items() if name not in ("start", "report", "counts")} == wanted, (
            row.name
        )
    compiled = {
        claim.id
        for document in documents
        for claim in claims.of_document(document)
        if "kernel compile" in claim.workload and claim.machine != "ppc405-200"
    }
    held = {claim.id for row in rows for claim in row.published.claims}
    assert compiled - held == {"ols03.flush.profile-others"}  # ticks in Linux's functions


def test_without_the_compilers_a_row_says_how_to_build_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "user").mkdir()
    shutil.copy(home().root / "user" / "initramfs-gcc.list", tmp_path / "user")
    monkeypatch.setattr(programs, "home", lambda: Home(tmp_path))
    with pytest.raises(NotBuilt) as error:
        programs.image([], "gcc")
    assert error.value.hint == "run `make compilers` first"
