"""The wheel, installed in an environment of its own, outside of the checkout and without a cross compiler."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Mapping
from importlib.metadata import distribution, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from pagewalk import __version__, guest, native, programs
from pagewalk.architectures import POWERPC
from pagewalk.errors import BadInput
from pagewalk.guest import Program
from pagewalk.paths import home
from pagewalk.workshop import Workshop

pytestmark = pytest.mark.built

EXPERIMENT = """
title = "A call and its return"
document = "pagewalk"
section = "an example"
about = "The handler of system calls, with the slow return of 1996 and without it."
[settings.before]
label = "flushes"
policies = { "return.flush" = "caches" }
[settings.after]
label = "returns"
policies = { }
[[machine]]
name = "ppc604-133"
[[row]]
name = "null call"
program = "null-call"
figure = "us"
unit = "us"
better = "lower"
"""


class Installed:
    """An environment with the wheel; its commands see neither the checkout nor a compiler."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.folder = folder
        self._bin = folder / "venv" / "bin"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
        done = self.pip(wheel)
        assert done.returncode == 0, done.stderr
        # What pip would download is taken from the environment of the tests, behind what the wheel has brought.
        packages = next((folder / "venv").glob("lib/python*/site-packages"))
        (packages / "others.pth").write_text(sysconfig.get_paths()["purelib"], encoding="utf-8")
        self.package = packages / "pagewalk"

    def pip(self, wheel: Path) -> subprocess.CompletedProcess[str]:
        into = [sys.executable, "-m", "pip", "--python", str(self._bin / "python")]
        return subprocess.run(
            [*into, "install", "--quiet", "--no-index", "--no-deps", str(wheel)],
            capture_output=True,
            text=True,
            check=False,
        )

    def run(self, *words: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self._bin / words[0]), *words[1:]],
            cwd=self.folder,
            env={"PATH": str(self._bin), "HOME": str(self.folder / "home"), **(environment or {})},
            capture_output=True,
            text=True,
            check=False,
        )

    def files(self) -> set[Path]:
        return {path for path in self.package.rglob("*") if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def wheel() -> Path:
    folder = home().built(home().build / "wheel", "the wheel")
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("wheel"), wheel)


def test_one_wheel_serves_every_python_from_the_least(wheel: Path) -> None:
    assert "-cp311-abi3-" in wheel.name


def test_it_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < 20 << 20


def normal(name: str) -> str:
    return re.sub("[-_.]+", "-", name).lower()


def requirements(wheel: Path) -> list[Requirement]:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        about = archive.read(metadata).decode()
    return [Requirement(text) for text in re.findall(r"^Requires-Dist: (.+)$", about, re.M)]


def wanted(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def test_an_environment_with_it_is_light(wheel: Path) -> None:
    """150 MB with pip and setuptools, which have 25. What is large and not always needed is an extra."""
    queue, seen = [found for found in requirements(wheel) if wanted(found)], dict[str, int]()
    while queue:
        name = normal(queue.pop().name)
        if name not in seen:
            files = distribution(name).files or []
            paths = [Path(str(file.locate())) for file in files]
            seen[name] = sum(path.stat().st_size for path in paths if path.is_file())
            queue += [found for text in requires(name) or [] if wanted(found := Requirement(text))]
    assert not {"polars", "textual", "vl-convert-python", "pyarrow", "numpy"} & set(seen)
    with zipfile.ZipFile(wheel) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
    assert sum(seen.values()) + unpacked < 125 << 20, (seen, unpacked)


def test_it_names_every_package_that_it_imports(wheel: Path) -> None:
    """The other tests find packages of the tests' environment, which pip would not install."""
    with zipfile.ZipFile(wheel) as archive:
        modules = [archive.read(name) for name in archive.namelist() if name.endswith(".py")]
    required = {normal(found.name) for found in requirements(wheel)}
    imported: set[str] = set()
    for module in modules:
        for node in ast.walk(ast.parse(module)):
            if isinstance(node, ast.Import):
                imported.update(name.name.partition(".")[0] for name in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                imported.add(node.module.partition(".")[0])
    providers = packages_distributions()
    others = imported - set(sys.stdlib_module_names) - {"pagewalk"}
    assert others
    missing = [name for name in others if not required & {found.lower() for found in providers.get(name, [])}]
    assert missing == []


def test_it_says_its_version_and_lists_the_packaged_machines(installed: Installed) -> None:
    assert installed.run("pagewalk", "--version").stdout == f"pagewalk {__version__}\n"
    machines = json.loads(installed.run("pagewalk", "machines", "--json").stdout)
    assert {machine["name"] for machine in machines} == {path.stem for path in home().machines.glob("*.toml")}
    cache = installed.folder / "home/.cache/pagewalk/wheel"
    assert all(Path(machine["path"]).is_relative_to(cache) for machine in machines)


def test_what_it_holds_is_unpacked_once_or_refused_in_a_sentence(installed: Installed) -> None:
    cache = installed.folder / "elsewhere"
    environment = {"XDG_CACHE_HOME": str(cache)}
    both = [
        subprocess.Popen(
            [str(installed.folder / "venv/bin/pagewalk"), "machines", "--json"],
            cwd=installed.folder,
            env={"PATH": "", "HOME": str(installed.folder / "home"), **environment},
            stdout=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    assert all(json.loads(process.communicate()[0]) for process in both)
    assert len(list((cache / "pagewalk/wheel").iterdir())) == 1
    (installed.folder / "file").write_bytes(b"")
    done = installed.run("pagewalk", "machines", environment={"XDG_CACHE_HOME": str(installed.folder / "file")})
    assert done.returncode == 126
    assert "cannot be unpacked" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_plot_a_report_and_a_page_need_no_extra(installed: Installed) -> None:
    words = ("sweep", "mmap-latency", "iterations=2", "size=64k", "-m", "ppc603-133", "-p", "tlb.cutoff=4,20")
    done = installed.run("pagewalk", *words, "--plot", "x.svg")
    assert done.returncode == 0, done.stderr
    assert (installed.folder / "x.svg").read_text(encoding="utf-8").startswith("<svg")
    for command in (["report", "-o", "r.html"], ["see", "-m", "ppc603-133", "-o", "s.html", "--", "hello"]):
        done = installed.run("pagewalk", *command)
        assert done.returncode == 0, done.stderr
    code = "import sys, pagewalk.api; assert not {'polars', 'altair', 'vl_convert', 'pyarrow'} & set(sys.modules)"
    done = installed.run("python", "-c", code)
    assert done.returncode == 0, done.stderr


def test_a_packaged_program_runs_as_in_the_checkout(installed: Installed) -> None:
    before = installed.files()
    done = installed.run("pagewalk", "exec", "-m", "ppc603-133", "--json", "--", "hello")
    assert done.returncode == 0, done.stderr
    ours = guest.job(Workshop(native.NativeRunner()), "ppc603-133", Program("hello", ()), overrides={}, settings={})
    assert json.loads(done.stdout)["run"] == ours.key(native.NativeRunner().version)
    assert installed.files() == before
    assert (installed.folder / "home/.local/share/pagewalk/pagewalk.duckdb").is_file()


def test_a_packaged_program_for_an_x86_runs_as_in_the_checkout(installed: Installed) -> None:
    done = installed.run("pagewalk", "exec", "-m", "p6-200", "--json", "--", "hello")
    assert done.returncode == 0, done.stderr
    ours = guest.job(Workshop(native.NativeRunner()), "p6-200", Program("hello", ()), overrides={}, settings={})
    assert json.loads(done.stdout)["run"] == ours.key(native.NativeRunner().version)


def test_an_experiment_runs_with_a_packaged_placement(installed: Installed) -> None:
    (installed.folder / "call.toml").write_text(EXPERIMENT, encoding="utf-8")
    data = installed.folder / "data"
    done = installed.run(
        "pagewalk", "run", "--seeds", "2", "--json", "call.toml", environment={"XDG_DATA_HOME": str(data)}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (data / "pagewalk" / "pagewalk.duckdb").is_file()


def test_what_only_a_checkout_has_is_said(installed: Installed) -> None:
    done = installed.run("pagewalk", "run", "--seeds", "9", "call.toml")
    assert done.returncode in (125, 126)
    assert "get a checkout" in " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in done.stderr


def test_another_platform_is_refused(installed: Installed, wheel: Path, tmp_path: Path) -> None:
    foreign = tmp_path / f"{wheel.name.split('-abi3-')[0]}-abi3-win_arm64.whl"
    foreign.symlink_to(wheel)
    done = installed.pip(foreign)
    assert done.returncode != 0
    assert "is not a supported wheel on this platform" in done.stderr


def test_a_copy_for_another_platform_says_so(installed: Installed, tmp_path: Path) -> None:
    copy = tmp_path / "pagewalk"
    shutil.copytree(installed.package, copy, ignore=shutil.ignore_patterns("data", "*.so"))
    done = installed.run(
        "python", "-c", "from pagewalk.entry import main; main()", environment={"PYTHONPATH": str(tmp_path)}
    )
    assert done.returncode == 126
    assert "built for another system" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_program_is_found_by_its_name_or_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGEWALK_HOME", str(home().root))
    assert programs.find("null-call") == home().build / "user" / "bench" / "null-call"
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="No such file"):
        programs.find(Path("null-call"))
    (tmp_path / "null-call").write_bytes(b"mine")
    with pytest.raises(BadInput, match="a file in this folder and a built program"):
        programs.find("null-call")
    assert programs.find(Path("null-call")) == Path("null-call")
    assert programs.find("x" * 300) == Path("x" * 300)
    assert {"hello", "null-call", "tlb-stress"} <= set(programs.names())


@pytest.mark.parametrize(
    ("part", "made"),
    [("user", ("bench/null-call",)), ("kernel", ("one/syscall/table.o", "one/arch/ppc/entry.o", "one/mm/fault.o"))],
)
def test_the_build_does_not_depend_on_the_folder(part: str, made: tuple[str, ...], tmp_path: Path) -> None:
    """A run's key has the hashes of kernel and programs, so that they must not contain the checkout's path. Here it has
    a space, at which make would split it.
    """
    checkout = tmp_path / "a checkout"
    for folder in ("user", "kernel", "tests"):
        shutil.copytree(home().root / folder, checkout / folder)
    build = checkout / "build" / part
    subprocess.run(
        ["make", "--silent", "-C", str(checkout / part), *(f"../build/{part}/{name}" for name in made)],
        env={name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))},
        check=True,
        capture_output=True,
    )
    for name in made:
        assert (build / name).read_bytes() == (home().build / part / name).read_bytes(), name


def test_no_image_holds_the_checkouts_path() -> None:
    path = str(home().root).encode()
    images = [POWERPC.kernel, *(home().build / "user" / "bench").iterdir(), home().build / "user" / "init"]
    assert [image for image in images if path in image.read_bytes()] == []
