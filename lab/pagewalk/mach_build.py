"""Builds GNU Mach, of Debian's source package or of a folder that a person has: configure and make, twice linked.

The first linking takes the compiler's library, whose functions begin with an instruction that an i486 does not know.
The second takes the subject's own file of them. MIG makes the stubs of Mach's messages; it comes from Debian's package.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from pagewalk.build_steps import Choice, Listener, cross, environment, failure, last, publish, room, run, sha256
from pagewalk.errors import BadInput, NotBuilt
from pagewalk.subjects import Kernel, Tool, cache_folder

_TOOLS = {
    "gcc": "gcc",
    "make": "make",
    "perl": "perl",
    "autoreconf": "autoconf",
    "automake": "automake",
    "xz": "xz-utils",
    "tar": "tar",
    "apt-get": "apt",
    "dpkg-deb": "dpkg",
}
"""The programs that a build needs, with Debian's packages of them."""

_LOADER = Path("/lib/ld-linux.so.2")
"""What starts a program of 32 bits, such as MIG: Debian's libc6-i386 has it."""

_PROGRAM = "int main(void) { return 0; }\n"
"""Mach's configure links such a program of 32 bits, for which Debian's gcc-12-multilib has the libraries."""

_ROOM = 200 << 20
"""Bytes on the disk that source and objects need with some to spare."""

_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_SUITE = "bookworm"
_FLAGS = ("-m32", "-march=i486", "-O2", "-ffreestanding", "-fno-pic", "-fno-stack-protector", "-fcf-protection=none")
_YOUNGER = re.compile(r"\t(cmov\w+|endbr32) ?", re.MULTILINE)
"""Instructions that an i486 does not know and that a compiler of today is fond of."""


def build(kernel: Kernel, choice: Choice, listener: Listener) -> None:
    """Builds the kernel; NotBuilt says what is missing or what make said."""
    _check_tools()
    folder = cache_folder() / kernel.family
    folder.mkdir(parents=True, exist_ok=True)
    room(folder, _ROOM)
    version = _folder_version(choice.source) if choice.source else kernel.source.version
    place = kernel.place(version)
    tree = folder / version / "source"
    if not tree.is_dir():
        fresh = folder / version / "unpacking"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        if choice.source:
            listener.said(f"copying {choice.source}")
            shutil.copytree(choice.source, fresh, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git"))
        else:
            _unpack(kernel, folder / version, fresh, listener)
        run(["autoreconf", "--install"], fresh, f"{kernel.family}: autoreconf makes no configure")
        fresh.rename(tree)
    assert kernel.tool is not None, "a Mach names its MIG"
    mig = _mig(kernel.tool, folder, listener)
    objects = folder / version / "objects" / kernel.platform.objects
    _compile(kernel, tree, objects, mig, choice.jobs)
    publish(kernel, version, objects / "gnumach", objects / "pagewalk.config", place)
    listener.said(f"{kernel.name}: built")


def _check_tools() -> None:
    missing = {package: tool for tool, package in _TOOLS.items() if shutil.which(tool) is None}
    if not _LOADER.exists():
        missing["libc6-i386"] = str(_LOADER)
    if "gcc" not in missing and not _links():
        missing["gcc-12-multilib"] = "a C library of 32 bits"
    if missing:
        # What gcc-12-multilib recommends removes the cross compilers.
        raise NotBuilt(
            f"building Mach needs {', '.join(missing.values())}",
            hint=f"apt-get install --no-install-recommends {' '.join(missing)}",
        )


def _links() -> bool:
    """Whether the compiler makes a program of 32 bits."""
    words = [f"{cross('i386')}gcc", "-m32", "-x", "c", "-", "-o", os.devnull]
    return subprocess.run(words, input=_PROGRAM, capture_output=True, text=True, check=False).returncode == 0


def _folder_version(folder: Path) -> str:
    """What stands for the source in a folder: the version that it says, and a hash of every file."""
    said = re.search(r"\[AC_PACKAGE_VERSION\],\[([^\]]+)\]", _text(folder / "version.m4"))
    if said is None:
        raise BadInput(f"{folder}: no source of GNU Mach: version.m4 says no version")
    whole = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts):
        whole.update(f"{path.relative_to(folder)}\0".encode())
        whole.update(path.read_bytes())
    return f"{said[1]}-folder-{whole.hexdigest()[:12]}"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None


# What comes from Debian's archive ---------------------------------------------


def _apt(folder: Path, kind: str, architecture: str | None = None) -> list[str]:
    """Options of apt-get for a private list of packages of Debian's archive: kind is deb or deb-src."""
    private = folder / "apt" / kind
    for part in ("lists/partial", "cache/archives/partial"):
        (private / part).mkdir(parents=True, exist_ok=True)
    found = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian",
         "Component: main"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    mirrors = [line for line in found.stdout.splitlines() if "security" not in line]
    mirror = os.environ.get("PAGEWALK_DEBIAN_MIRROR") or (sorted(set(mirrors)) or [""])[0]
    if not mirror:
        raise NotBuilt(
            "no Debian mirror is in the system's package sources", hint="PAGEWALK_DEBIAN_MIRROR names the URL of one"
        )
    (private / "sources.list").write_text(f"{kind} [signed-by={_KEYRING}] {mirror} {_SUITE} main\n", encoding="utf-8")
    options = [
        f"Dir::Etc::sourcelist={private}/sources.list", "Dir::Etc::sourceparts=-", f"Dir::State::lists={private}/lists",
        f"Dir::Cache={private}/cache", "APT::Sandbox::User=", "Acquire::Retries=3",
    ]  # fmt: skip
    if architecture:
        options += [f"APT::Architecture={architecture}", f"APT::Architectures::={architecture}"]
        options += ["Dir::State::status=/dev/null"]
    words = ["apt-get", "-qq", *(word for option in options for word in ("-o", option))]
    if not any((private / "lists").glob("*Debian*")) and not any((private / "lists").glob("*_main_*")):
        run([*words, "update"], folder, f"cannot read the list of packages of {mirror}")
    return words


def _checked(path: Path, wanted: str) -> Path:
    """The file, if it has this hash; it is not kept otherwise."""
    if (found := sha256(path)) != wanted:
        path.unlink()
        raise NotBuilt(
            f"{path.name} is not the file that subject.toml names: its SHA-256 is {found}",
            hint="it was not used and not kept",
        )
    return path


def _unpack(kernel: Kernel, folder: Path, fresh: Path, listener: Listener) -> None:
    """Unpacks the archive of Debian's source package."""
    source = kernel.source
    archive = folder / source.archive
    if not archive.is_file():
        listener.said(f"fetching Debian's source package {source.package} {source.version}")
        words = [*_apt(folder, "deb-src"), "--download-only", "source", source.package]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, env=environment())
        if not archive.is_file():
            raise NotBuilt(
                f"Debian's archive gives no {source.archive}" + (f": {last(done.stderr)}" if done.returncode else ""),
                hint=f"`pagewalk subjects build {kernel.name} --source FOLDER` takes the source in a folder, such as "
                f"GNU Mach's own at its tag v{source.version}",
            )
    _checked(archive, source.sha256)
    words = ["tar", "-xJf", str(archive), "-C", str(fresh), "--strip-components=1"]
    run(words, folder, f"{archive.name} cannot be unpacked")


def _mig(tool: Tool, folder: Path, listener: Listener) -> Path:
    """The program of that package, unpacked."""
    unpacked = folder / f"{tool.package}-{tool.version}"
    if not unpacked.is_dir():
        listener.said(f"fetching Debian's package {tool.package} {tool.version}")
        words = [*_apt(folder, "deb", tool.architecture), "download", f"{tool.package}={tool.version}"]
        run(words, folder, f"cannot fetch {tool.package} {tool.version}")
        package = _checked(next(folder.glob(f"{tool.package}_*.deb")), tool.sha256)
        fresh = folder / "unpacking-tool"
        shutil.rmtree(fresh, ignore_errors=True)
        run(["dpkg-deb", "--extract", package.name, fresh.name], folder, f"{package.name} cannot be unpacked")
        package.unlink()
        fresh.rename(unpacked)
    return unpacked / "usr" / "bin" / "i686-gnu-mig"


# The kernel -------------------------------------------------------------------


def _compile(kernel: Kernel, tree: Path, objects: Path, mig: Path, jobs: int) -> None:
    gcc = f"{cross('i386')}gcc"
    words = dict(line.split("=", 1) for line in kernel.configuration.splitlines())
    own = [f"{name}={value}" for name, value in words.items()]
    compiler = [f"CC={gcc} -m32", f"CPP={gcc} -m32 -E", f"LD={cross('i386')}ld -m elf_i386", f"MIG={mig}"]
    (objects / "Makefile").unlink(missing_ok=True)
    objects.mkdir(parents=True, exist_ok=True)
    run(
        [str(tree / "configure"), "--host=i686-gnu", "--build=x86_64-linux-gnu", *own, *compiler, "MAKEINFO=true"],
        objects,
        f"{kernel.name} cannot be configured",
    )
    (objects / "pagewalk.config").write_text(kernel.configuration, encoding="utf-8")
    _make(kernel, objects, jobs)
    library = [str(kernel.folder / name) for name in ("divide.c",)]
    run([gcc, *_FLAGS, "-c", *library, "-o", "libgcc-routines.o"], objects, f"{kernel.name}: its division")
    _make(kernel, objects, jobs)
    listed = subprocess.run(
        [f"{cross('i386')}objdump", "-d", "--no-show-raw-insn", "gnumach"],
        cwd=objects, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if younger := set(_YOUNGER.findall(listed.stdout)):
        raise NotBuilt(f"{kernel.name} has instructions that an i486 does not know: {', '.join(sorted(younger))}")


def _make(kernel: Kernel, objects: Path, jobs: int) -> None:
    log = objects.with_suffix(".log")
    done = subprocess.run(
        ["make", f"-j{jobs}", "gnumach"],
        cwd=objects, capture_output=True, text=True, errors="replace", check=False, env=environment(),
    )  # fmt: skip
    log.write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode:
        raise failure(f"{kernel.name} cannot be built; {log} has all that make said", done.stderr or done.stdout)
