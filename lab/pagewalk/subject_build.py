"""Builds subjects: fetches Debian's package, unpacks its source, configures and compiles.

Each step leaves its result in the cache and is not done again. A build that was interrupted goes on where it stopped.
Kernels of one family share a folder of objects, so that the second compiles only what its configuration changes.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pagewalk import build_steps, mach_build
from pagewalk.build_steps import Choice, Listener
from pagewalk.errors import BadInput, Interrupted, NotBuilt
from pagewalk.subjects import IMAGE, Architecture, Edit, Kernel, Source, cache_folder, finished

_TOOLS = {
    "gcc": "gcc",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "xz": "xz-utils",
    "tar": "tar",
    "apt-get": "apt",
    "dpkg-deb": "dpkg",
}
"""The programs that a build needs, with Debian's packages of them; besides the compiler."""

_SOURCE_ROOM = 1_000 << 20
_KERNEL_ROOM = 150 << 20
"""Bytes on the disk that an unpacked source, and the objects of a kernel, need with some to spare."""

_OBJECTS = 640
"""About how many objects a kernel has; the count of the last finished one is better."""

_STEP = re.compile(r"^  (CC|AS) +(\S+\.o)$")
_NOT_FOUND = ("was not found", "Unable to locate package", "No candidate version")


@dataclass(frozen=True)
class _Work:
    """What every step of a build has: the person's choice, who is told of progress, and the lock's descriptor."""

    choice: Choice
    listener: Listener
    lock: int


def build(kernels: Sequence[Kernel], choice: Choice, listener: Listener) -> None:
    """Builds the kernels that are not there. A second builder waits for the first."""
    if choice.source and any(kernel.system != "mach" for kernel in kernels):
        raise BadInput("--source is for a Mach: a Linux is built from Debian's package")
    if not choice.newest and not choice.source:
        kernels = [kernel for kernel in kernels if finished(kernel.place(kernel.source.version)) is None]
    if not kernels:
        return
    _check_tools({kernel.platform.architecture for kernel in kernels if kernel.system == "linux"})
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        with _locked(cache_folder() / "lock", listener) as lock:
            for kernel in kernels:
                _build_one(kernel, _Work(choice, listener, lock))
    except KeyboardInterrupt:
        raise Interrupted("interrupted", hint="the same command goes on from there") from None
    except OSError as error:
        raise BadInput(
            f"{error.filename or cache_folder()}: {error.strerror}",
            hint="XDG_CACHE_HOME names another place for kernels",
        ) from None


def _check_tools(architectures: Collection[Architecture]) -> None:
    if not architectures:
        return
    compilers = {
        f"{build_steps.cross(name)}gcc": f"gcc-{build_steps.cross(name)}".rstrip("-") for name in architectures
    }
    tools = _TOOLS | compilers
    missing = {package: tool for tool, package in tools.items() if shutil.which(tool) is None}
    if missing:
        part = "test" if "riscv" in architectures else "run"
        raise NotBuilt(
            f"building Linux needs {', '.join(missing.values())}",
            hint=f"`./bootstrap {part}` installs what is missing: {' '.join(missing)}",
        )


@contextmanager
def _locked(path: Path, listener: Listener) -> Iterator[int]:
    """Holds the lock, whose descriptor is given; it is held until the last process that has the descriptor ends.

    make inherits the descriptor, and with it the lock. filelock does not give its descriptor away.
    """
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            listener.said("another build is at work: waiting until it has ended")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def _build_one(kernel: Kernel, work: _Work) -> None:
    if kernel.system == "mach":
        mach_build.build(kernel, work.choice, work.listener)
        return
    version = _newest(kernel.source) if work.choice.newest else kernel.source.version
    place = kernel.place(version)
    if finished(place) is not None:
        return
    source = _source(kernel, version, work.listener)
    objects = place.parents[1] / "objects" / kernel.platform.objects
    objects.mkdir(parents=True, exist_ok=True)
    build_steps.room(objects, _KERNEL_ROOM)
    _edit(source, kernel.variant.edits)
    configure(kernel, source, objects)
    started = time.monotonic()
    _compile(kernel, source, objects, work)
    build_steps.publish(kernel, version, objects / IMAGE, objects / ".config", place)
    work.listener.said(f"{kernel.name}: built in {time.monotonic() - started:,.0f} s")


# The source -------------------------------------------------------------------


def _source(kernel: Kernel, version: str, listener: Listener) -> Path:
    """The unpacked source of that version."""
    folder = cache_folder() / kernel.family / version
    tree = folder / "source"
    if tree.is_dir():
        return tree
    folder.mkdir(parents=True, exist_ok=True)
    build_steps.room(folder, _SOURCE_ROOM)
    package = _package(kernel.source, version, folder, listener)
    listener.said(f"unpacking {package.name}")
    fresh = folder / "unpacking"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    build_steps.run(["dpkg-deb", "--extract", package.name, fresh.name], folder, f"{package} cannot be unpacked")
    unused = [f"--exclude=*/{pattern}" for pattern in kernel.source.unused]
    (fresh / "source").mkdir()
    build_steps.run(
        ["tar", "-xJf", kernel.source.archive, "-C", "source", "--strip-components=1", *unused],
        fresh,
        f"{kernel.source.archive} of {package.name} cannot be unpacked",
    )  # fmt: skip
    (fresh / "source").rename(tree)
    shutil.rmtree(fresh)
    package.unlink()
    return tree


def _package(source: Source, version: str, folder: Path, listener: Listener) -> Path:
    """Debian's package of that version, checked."""
    pinned = version == source.version
    found = sorted(folder.glob("*.deb"))
    if not (found and (not pinned or build_steps.sha256(found[0]) == source.sha256)):
        for old in found:
            old.unlink()
        listener.said(f"fetching Debian's package {source.package} {version}")
        _download(source, version, folder)
        found = sorted(folder.glob("*.deb"))
    if not found:
        raise NotBuilt(f"apt-get has brought no package {source.package}")
    if pinned and (sha256 := build_steps.sha256(found[0])) != source.sha256:
        found[0].unlink()
        raise NotBuilt(
            f"{found[0].name} is not the file that subject.toml names: its SHA-256 is {sha256}",
            hint="it was not used and not kept",
        )
    return found[0]


def _download(source: Source, version: str, folder: Path) -> None:
    command = ["apt-get", "--quiet", "download", f"{source.package}={version}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode and any(words in done.stderr for words in _NOT_FOUND) and os.geteuid() == 0:
        # The lists on this computer may be older than the archive.
        subprocess.run(["apt-get", "--quiet", "update"], capture_output=True, check=False)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if not done.returncode:
        return
    if any(words in done.stderr for words in _NOT_FOUND):
        other = _candidate(source)
        if other is None:
            raise NotBuilt(
                f"Debian's archive, as this computer's lists have it, has no {source.package}",
                hint="run `apt-get update` as root, and this command again",
            )
        raise NotBuilt(
            f"Debian's archive has moved on from {source.package} {version} to {other}",
            hint="`pagewalk subjects build --newest NAME` takes that version: its cycle counts may differ from those "
            "on record; if the lists of this computer are old, run `apt-get update` as root first",
        )
    raise NotBuilt(f"cannot fetch {source.package} {version}", hint=build_steps.last(done.stderr))


def _candidate(source: Source) -> str | None:
    """The version that the archive has now."""
    done = subprocess.run(
        ["apt-cache", "policy", source.package],
        capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    found = re.search(r"^\s*Candidate: (\S+)$", done.stdout, re.MULTILINE)
    return None if found is None or found[1] == "(none)" else found[1]


def _newest(source: Source) -> str:
    version = _candidate(source)
    if version is None:
        raise NotBuilt(
            f"Debian's archive, as this computer's lists have it, has no {source.package}",
            hint="run `apt-get update` as root, and this command again",
        )
    return version


def _edit(tree: Path, edits: Sequence[Edit]) -> None:
    """Leaves the source with these edits and no others, whatever an earlier build has left."""
    originals = tree.with_name("originals")
    wanted: dict[str, str] = {}
    if originals.is_dir():
        for kept in originals.rglob("*"):
            if kept.is_file():
                wanted[str(kept.relative_to(originals))] = kept.read_text(encoding="utf-8")
    for edit in edits:
        if edit.file not in wanted:
            wanted[edit.file] = (tree / edit.file).read_text(encoding="utf-8")
            kept = originals / edit.file
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(wanted[edit.file], encoding="utf-8")
        opening = re.compile(rf"^[^\s#/].*\b{re.escape(edit.function)}\([^;]*?\)\n\{{\n", re.MULTILINE)
        changed, count = opening.subn(
            lambda found, edit=edit: f"{found[0]}\t{edit.first}\n",  # type: ignore[misc]
            wanted[edit.file],
        )
        if count != 1:
            raise NotBuilt(f"{edit.file} has {count} functions {edit.function} where subject.toml wants one")
        wanted[edit.file] = changed
    for name, text in wanted.items():
        if (tree / name).read_text(encoding="utf-8") != text:
            (tree / name).write_text(text, encoding="utf-8")


# The kernel -------------------------------------------------------------------


def make_command(kernel: Kernel, source: Path, objects: Path, *words: str) -> list[str]:
    """The command that makes something of a Linux out of its source's folder."""
    architecture = kernel.platform.architecture
    own = [f"ARCH={architecture}", f"CROSS_COMPILE={build_steps.cross(architecture)}"]
    return ["make", "-C", str(source), f"O={objects}", *own, *words]


def configure(kernel: Kernel, source: Path, objects: Path) -> None:
    """Writes the configuration; every symbol of the fragments must have taken."""
    wanted = objects / "pagewalk.config"
    before = wanted.read_text(encoding="utf-8") if wanted.is_file() else None
    if before == kernel.configuration and (objects / ".config").is_file():
        return
    wanted.unlink(missing_ok=True)
    fragment = objects / "fragment.config"
    fragment.write_text(kernel.configuration, encoding="utf-8")
    build_steps.run(
        [*make_command(kernel, source, objects), f"KCONFIG_ALLCONFIG={fragment}", "allnoconfig"],
        objects,
        f"{kernel.name} cannot be configured",
    )
    has = dict(
        line.split("=", 1)
        for line in (objects / ".config").read_text(encoding="utf-8").splitlines()
        if line.startswith("CONFIG_")
    )
    lines = [line.split("=", 1) for line in kernel.configuration.splitlines()]
    lost = [f"{symbol}={value}" for symbol, value in lines if has.get(symbol, "n") != value]
    if lost:
        raise NotBuilt(f"{kernel.name}: this source has no such configuration: {', '.join(lost)}")
    fragment.rename(wanted)


def _compile(kernel: Kernel, source: Path, objects: Path, work: _Work) -> None:
    """Runs make, and tells its progress. Interrupted, it ends make and its children.

    make has the lock, too: should this process be killed, no other builder begins before make has ended.
    """
    log = objects.with_suffix(".log")
    count = objects / "objects"
    finished = int(count.read_text()) if count.is_file() else 0
    there = 0 if finished else sum(1 for _ in objects.rglob("*.o"))
    progress = _Progress(kernel.name, there, finished or _OBJECTS, work.listener.progress)
    command = make_command(kernel, source, objects, f"-j{work.choice.jobs}", IMAGE)
    with log.open("w", encoding="utf-8") as kept:
        make = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            env=build_steps.environment(), start_new_session=True, pass_fds=[work.lock],
        )  # fmt: skip
        try:
            assert make.stdout is not None
            for line in make.stdout:
                kept.write(line)
                if _STEP.match(line.rstrip("\n")):
                    progress.step()
            status = make.wait()
        except BaseException:
            os.killpg(make.pid, signal.SIGTERM)
            make.wait()
            raise
    if status:
        said = [line for line in log.read_text(encoding="utf-8").splitlines() if not _STEP.match(line)]
        raise build_steps.failure(f"{kernel.name} cannot be built; {log} has all that make said", "\n".join(said[-12:]))
    count.write_text(str(sum(1 for _ in objects.rglob("*.o"))))


class _Progress:
    """Counts objects, and estimates the time left."""

    def __init__(self, name: str, there: int, total: int, told: Callable[[str, int, int, float], None]) -> None:
        self._name = name
        self._there = there
        self._total = total
        self._told = told
        self._made = 0
        self._begin = time.monotonic()

    def step(self) -> None:
        self._made += 1
        done = self._there + self._made
        total = max(self._total, done)
        each = (time.monotonic() - self._begin) / self._made
        self._told(self._name, done, total, each * (total - done))
