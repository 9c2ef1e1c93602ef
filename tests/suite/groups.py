"""The groups: programs, and the cases that run them."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pagewalk.initramfs import Initramfs

from suite.model import Case, Group
from suite.places import ARCH, BUILDS, CASES, PROGRAMS, USER, Missing, program, wanted

LIBCS = ARCH.libcs

# How long others wait while something takes long: by guest time, so only our kernel can pass.
_WAITS = (
    "latency",
    "latency_many",
    "latency_threads",
    "long_call",
    "preempt_descriptor",
    "preempt_file",
    "preempt_memory",
    "preempt_signal",
    "turn",
)

# Other tests that only our kernel can pass. The first comment of each file says why.
_KERNEL_ONLY = (
    "recent",
    "strict",
    "strict_memory",
    "policy",
    "copy",
    "fetch",
    "mapping",
    "profile",
    "registers",
    "inherit",
    "ramdisk",
    "seize",
    "trace",
    "system",
    "tcp_state",
    "udp_lite",
    "core",
    "ipc",
    "ipc_memory",
    "limit",
    "wide",
    "x86_ids",
    "x86_trace",
)


def base() -> Initramfs:
    """A root with init, the suite's driver and the usual folders."""
    image = Initramfs()
    for folder in ("bin", "dev", "etc", "proc"):
        image.directory(folder)
    image.directory("tmp", 0o1777)
    image.node("dev/console", "c", 5, 1)
    how = "run make -C user"
    image.copy("init", wanted(USER / "init", how))
    image.copy("bin/suite", wanted(USER / "suite", how))
    image.copy("bin/hello", wanted(USER / "hello", how))
    image.file("etc/passwd", b"root:x:0:0:root:/:/bin/sh\nuser:x:1000:1000:user:/tmp:/bin/sh\n")
    image.file("etc/group", b"root:x:0:\nuser:x:1000:\n")
    return image


def stripped(path: Path) -> bytes:
    """A program without its symbols, so that it fits into a small machine's memory."""
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run([ARCH.strip, "-o", file.name, str(path)], check=True)
        return Path(file.name).read_bytes()


def _applets(libc: str) -> list[str]:
    listed = subprocess.run(
        [
            str(wanted(PROGRAMS / ARCH.emulator, f"run {BUILDS}tests/programs/qemu.sh")),
            str(program(libc, "busybox")),
            "--list",
        ],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return listed.stdout.split()


def with_busybox(libc: str) -> Initramfs:
    image = base()
    image.copy("bin/busybox", program(libc, "busybox"))
    for applet in _applets(libc):
        if applet != "busybox":
            image.symlink(f"bin/{applet}", "busybox")
    return image


def _scripts(image: Initramfs, folder: Path, interpreter: str) -> list[Case]:
    """Every script of a folder as a case."""
    cases = []
    for script in sorted(wanted(folder, "it is part of the checkout").iterdir()):
        image.copy(f"cases/{script.name}", script)
        if script.suffix in (".sh", ".lua"):
            cases.append(Case(script.stem, (interpreter, f"/cases/{script.name}"), seconds=300))
    return cases


def user_tests() -> Group:
    """Our own test programs, without those of `waits`."""
    return _own("user", "own tests", lambda name: name not in _WAITS)


def waits() -> Group:
    """Our own tests of how long others wait. They take most time, and depend on the processor least."""
    return _own("waits", "own tests of long waits", lambda name: name in _WAITS)


# So many programs, with the largest test's memory, fit into a small machine.
_TESTS_TO_A_BOOT = 30


def _own(name: str, title: str, wants: Callable[[str], bool]) -> Group:
    image = base()
    cases = []
    for test in sorted(wanted(USER / "test", "run make -C user").iterdir()):
        if wants(test.name):
            image.file(f"test/{test.name}", stripped(test), 0o755)
            alone = test.name in (*_WAITS, *_KERNEL_ONLY)
            cases.append(Case(test.name, (f"/test/{test.name}",), seconds=600, alone=alone))
    return Group(name, title, image, cases, to_a_boot=_TESTS_TO_A_BOOT, programs="test")


# With the invariant checker, memory pressure takes most of a boot's instruction limit.
_ATTACKS_TO_A_BOOT = 4


def hostile() -> Group:
    """Attacks on the kernel by a user without privilege, one program for each class; they run on the kernel only."""
    image = base()
    cases = []
    for attack in sorted(wanted(USER / "hostile", "run make -C user").iterdir()):
        image.file(f"hostile/{attack.name}", stripped(attack), 0o755)
        cases.append(Case(attack.name, (f"/hostile/{attack.name}",), seconds=600, alone=True))
    # The set-ID program of these attacks is the attack itself, owned by root.
    image.file("bin/set-uid", stripped(USER / "hostile" / "privilege"), 0o4755)
    return Group("hostile", "attacks without privilege", image, cases, to_a_boot=_ATTACKS_TO_A_BOOT)


# The cross compiler's folder of the target's libraries, and the libraries that the program names.
_LIBRARIES = Path("/usr/powerpc-linux-gnu/lib")
_WANTED = ("ld.so.1", "libc.so.6", "libm.so.6")


def add_libraries(image: Initramfs, *names: str) -> None:
    """Adds the cross compiler's run-time linker, the usual libraries of its C library, and those named."""
    for name in (*_WANTED, *names):
        path = wanted(_LIBRARIES / name, "install libc6-powerpc-cross").resolve()
        image.file(f"lib/{name}", path.read_bytes(), 0o755)


def dynamic() -> Group:
    """A dynamically linked program with its libraries."""
    image = base()
    add_libraries(image)
    image.file("bin/dynamic", stripped(wanted(USER / "dynamic", "run make -C user")), 0o755)
    cases = [Case("once", ("/bin/dynamic",)), Case("again", ("/bin/dynamic", "again"))]
    return Group("dynamic", "dynamically linked", image, cases)


# This many fit into the instruction limit of a boot.
_SEEDS_TO_A_BOOT = 8
# Each seed begins with two warm-up rounds; with fewer calls they would take most of the time.
_CALLS_OF_A_SEED = 50_000


def fuzz(calls: int) -> Group:
    """Random system calls and attacks, by seed, on the kernel only; then it must hold as much memory as before."""
    image = base()
    image.file("bin/fuzz", stripped(wanted(USER / "fuzz", "run make -C user")), 0o755)
    each = min(calls, _CALLS_OF_A_SEED)
    cases = [
        Case(f"seed-{seed}", ("/bin/fuzz", f"seed={seed}", f"calls={each}"), seconds=1200, alone=True)
        for seed in range(1, 1 + calls // each)
    ]
    title = f"random system calls and attacks ({calls})"
    # A machine with little memory has a small hash table: more entries are evicted, and a check takes less time.
    return Group(f"fuzz-{calls}", title, image, cases, memory=32, to_a_boot=_SEEDS_TO_A_BOOT)


def busybox(libc: str) -> Group:
    """busybox's shell and applets, run by our scripts."""
    image = with_busybox(libc)
    return Group(f"busybox-{libc}", f"busybox ({libc})", image, _scripts(image, CASES / "busybox", "/bin/sh"))


def busybox_own(libc: str) -> Group:
    """busybox's own test suite, one case an applet."""
    image = with_busybox(libc)
    folder = wanted(PROGRAMS / "src" / "busybox" / "testsuite", "run tests/programs/build.sh busybox")
    image.tree("testsuite", folder)
    image.copy("testsuite/one", CASES / "busybox-own-test")
    image.copy("testsuite/.config", wanted(PROGRAMS / "src" / f"busybox-{libc}" / ".config", "build busybox"))
    names = sorted(
        {path.stem for path in folder.glob("*.tests")} | {path.name for path in folder.iterdir() if path.is_dir()}
    )
    # Left out: applets that need devices or another file system, and bc's and dc's long computations.
    skipped = {
        "all_sourcecode",
        "bc",
        "dc",
        "mdev",
        "mount",
        "unshare",
        "parse",
        "makedevs",
        "mkfs.minix",
        "date",
        "taskset",
        "du",
        "ls",
        "nslookup",
    }
    cases = [Case(name, ("/bin/sh", "/testsuite/one", name), seconds=300) for name in names if name not in skipped]
    return Group(f"busybox-own-{libc}", f"busybox's own suite ({libc})", image, cases)


def lua(libc: str) -> Group:
    """Lua scripts."""
    image = with_busybox(libc)
    image.copy("bin/lua", program(libc, "lua"))
    cases = _scripts(image, CASES / "lua", "/bin/lua")
    if libc == "glibc":  # qemu-ppc 7.2 takes the mffscrni of glibc's sin as illegal
        cases = [replace(case, alone=case.name == "numbers") for case in cases]
    return Group(f"lua-{libc}", f"Lua 5.4.4 ({libc})", image, cases)


# The files that all.lua runs, except two that only exhaust memory or time (big, heavy).
_LUA_OWN = (
    "main", "db", "calls", "strings", "literals", "tpack", "attrib", "gengc", "locals", "constructs", "code", "cstack",
    "nextvar", "pm", "utf8", "api", "events", "vararg", "closure", "coroutine", "goto", "errors", "math", "sort",
    "bitwise", "verybig", "files", "gc", "bwcoercion",
)  # fmt: skip
# The files that call functions of glibc's libm in which qemu-ppc 7.2 dies (see `lua`).
_LUA_OWN_ALONE = ("db", "calls", "constructs", "closure", "errors", "math")


def lua_own(libc: str) -> Group:
    """Lua's own tests, one case a file."""
    image = with_busybox(libc)
    image.copy("bin/lua", program(libc, "lua"))
    image.tree("lua-tests", wanted(PROGRAMS / "src" / "lua-tests", "run tests/programs/build.sh lua-tests"))
    image.copy("lua-tests/one", CASES / "lua-own-test")
    cases = [
        Case(name, ("/lua-tests/one", name), seconds=1200, alone=libc == "glibc" and name in _LUA_OWN_ALONE)
        for name in _LUA_OWN
    ]
    return Group(f"lua-own-{libc}", f"Lua's own tests ({libc})", image, cases)


def sqlite(libc: str) -> Group:
    """SQLite sessions with a database file."""
    image = with_busybox(libc)
    image.copy("bin/sqlite3", program(libc, "sqlite3"))
    return Group(f"sqlite-{libc}", f"SQLite 3.40 ({libc})", image, _scripts(image, CASES / "sqlite", "/bin/sh"))


def tcc(libc: str) -> Group:
    """TinyCC compiling Lua's sources: one by one in parallel, and all at once."""
    image = with_busybox(libc)
    image.copy("bin/i386-tcc", program(libc, "i386-tcc"))
    sources = PROGRAMS / "src"
    image.tree("lib/tcc/include", wanted(sources / "tcc" / "include", "run tests/programs/build.sh"))
    image.tree("usr/include", wanted(PROGRAMS / "musl-sysroot" / "include", "run tests/programs/build.sh"))
    for path in sorted((sources / "lua5.4" / "src").glob("*.[ch]")):
        image.copy(f"usr/src/lua/{path.name}", path)
    image.copy("bench/compile.sh", CASES.parents[1] / "user" / "bench" / "compile" / "compile.sh")
    return Group(f"tcc-{libc}", f"TinyCC ({libc})", image, _scripts(image, CASES / "tcc", "/bin/sh"))


# Memory in MB, for programs of several MB that write files of several MB.
_LARGE = 128

# The size limit of an archive. A target's memory must also hold the kernel and the unpacked root.
_ARCHIVE_MOST = 16 << 20


def programs(folder: Path) -> list[Group]:
    """Every static program below a folder, run without arguments; split into groups that fit into memory."""
    groups: list[Group] = []
    room = 0
    for path in sorted(wanted(folder, f"name a folder with static {ARCH.called} programs").rglob("*")):
        if not path.is_file() or not is_program(path):
            continue
        name = "/".join(path.relative_to(folder).parts)
        contents = stripped(path)
        if len(contents) > room:
            groups.append(Group(f"programs-{len(groups)}", f"{folder} from {name}", base(), []))
            room = _ARCHIVE_MOST
        room -= len(contents)
        groups[-1].image.file(f"programs/{name}", contents, 0o755)
        groups[-1].cases.append(Case(name, (f"/programs/{name}",)))
    if not groups:
        raise Missing(f"{folder} holds no static {ARCH.called} program")
    return groups


def is_program(path: Path) -> bool:
    """Whether a file is an ELF executable (type 2) for the architecture."""
    with path.open("rb") as file:
        header = file.read(20)
    return header[:7] == ARCH.header and header[16:] == ARCH.kind


def redis() -> Group:
    """Redis: server, client and benchmark, over TCP and a Unix socket, with snapshots and restarts."""
    image = with_busybox("glibc")
    for name in ("redis-server", "redis-cli", "redis-benchmark"):
        image.copy(f"bin/{name}", program("glibc", name, "redis"))
    return Group("redis", "Redis 7.0.15", image, _scripts(image, CASES / "redis", "/bin/sh"), memory=_LARGE)


def git() -> Group:
    """git: a history of 200 files, a pack, merges."""
    image = with_busybox("glibc")
    image.copy("bin/git", program("glibc", "git", "git"))
    image.symlink("bin/git-upload-pack", "git")
    return Group("git", "git 2.39.5", image, _scripts(image, CASES / "git", "/bin/sh"), memory=_LARGE)
