"""The scripts of the compile workload: a file that cannot be compiled fails the whole job, so that no row times it."""

import subprocess
from pathlib import Path

import pytest

from pagewalk.paths import home

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
