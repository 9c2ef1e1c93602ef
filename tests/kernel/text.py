"""Checks that the text which runs is the text of the image: boots, stops at the first `exit`, and compares.

Gdb's remote protocol stops the machine and reads its memory. Each boot lists the names at which its text differs: all
of them must differ, and nothing else may. A name is a function whose first instruction `arch_replace()` replaces, or
stands in a table here. A 970 has other instructions where `forms64` says. The vectors, into which the kernel copies
code images, are no part of `.text`.
"""

from __future__ import annotations

import re
import socket
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from suite.places import BUILD, machine_file, processors_of

from kernel.replaced import KERNEL, replaced_in
from kernel.runs import RUNNER, packed


@dataclass(frozen=True)
class Boot:
    """A machine, the words of its command line, and the names at which its text differs from the image."""

    arch: str
    machine: str
    words: str
    differs: str


BOOTS = (
    Boot("ppc", "ppc604-133", "kernel.map=bat", "message_report"),
    Boot(
        "ppc",
        "ppc604-133",
        "kernel.map=bat hpte.slot=noted reload.count=on entry=lean ipc.path=fast preload=switch",
        "enter enter_with_task hash_counted_data hash_counted_instruction hash_counted_kernel hash_placed_data"
        " hash_placed_instruction message_report switch_preload",
    ),
    Boot(
        "ppc",
        "ppc604-133",
        "kernel.map=bat ready.queue=lazy",
        "message_report sched_end sched_limit_end sched_limit_wait sched_start schedule schedule_to task_continue"
        " task_wake",
    ),
    Boot(
        "ppc",
        "ppc603-133",
        "kernel.map=bat entry=lean return.flush=caches copy.count=on",
        "copy_first enter enter_with_task memcpy message_report return_full_last return_lean_last"
        " return_syscall_cleared_last return_syscall_lean_last",
    ),
    Boot(
        "ppc",
        "ppc970-1600",
        "kernel.map=large hpte.slot=noted reload.count=on",
        "hash64_counted_data hash64_counted_data_withheld hash64_counted_instruction"
        " hash64_counted_instruction_withheld hash64_placed_data hash64_placed_data_withheld"
        " hash64_placed_instruction hash64_placed_instruction_withheld message_report segment_load segments_load"
        " tlb_invalidate_all",
    ),
    Boot(
        "ppc",
        "ppc405-200",
        "kernel.map=large icache.flush=exec",
        "arch_icache_sync arch_timer_set exception_external message_report own_register own_register_set switch_away"
        " switch_to",
    ),
    Boot("ppc", "mpc855t-48", "pin=ram reload=asm", "message_report"),
    Boot("ppc", "ppc604-185x2", "kernel.map=bat shootdown=short", "message_report"),
    Boot("x86", "i486dx-50", "entry=lean", "cpus exception_gates"),
)
"""Gdb reads memory that a BAT, a large page or a page table maps. What only the hash table maps it cannot read."""
SLOW = (Boot("x86", "p6-200x2", "check=on", "cpus exception_gates kernel_lock spin_lock spin_unlock"),)
"""Half a minute of the computer's time: the second processor waits for long."""
PLACES = {
    "enter": "entry=lean",
    "enter_with_task": "entry=lean",
    "switch_preload": "preload=switch",
    "copy_first": "copy.count",
    "memcpy": "copy.count",
}
"""Labels whose word a policy writes, and which."""
POINTERS = {"message_report": "the control device wants to know of switches"}
"""Words of data with the address of an instruction that the kernel writes, and why it writes that instruction."""
FAMILIES = re.compile(r"hash(64)?_(counted|placed)_\w+$(?<!_on)|return_(full|lean|syscall_\w+)_last$")
"""Names of labels that are alike: the kernel writes the word at each for hash.count, hash.note or return.flush."""
DATA = ("exception_gates", "cpus")
"""Data of an x86 that stands in the text, in the page of what each message touches (arch/x86/hot_page.lds)."""
CHUNK = 1024
SIZES = {"ppc": 4, "x86": 5}
"""Bytes of the branch that replaces a first instruction, or of the word that a policy writes."""


class Stopped:
    """A boot that waits for gdb."""

    def __init__(self, machine: str, image: Path, initramfs: Path, words: str) -> None:
        self.machine = machine
        command = [
            str(RUNNER), "run", "--machine", str(machine_file(machine)), "--kernel", str(image), "--initrd",
            str(initramfs), f"--append=quiet {words} -- /bin/hello", "--gdb", "0",
        ]  # fmt: skip
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        found = None
        while not found and (line := self.process.stderr.readline()):
            found = re.search(r"(?:port |:)(\d+)", line)
        assert found, "the runner names no port"
        self.socket = socket.create_connection(("127.0.0.1", int(found[1])), timeout=300)

        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, words: str) -> str:
        """The answer to a packet of gdb's protocol."""
        self.socket.sendall(f"${words}#{sum(words.encode()) % 256:02x}".encode())
        answer = b""
        while b"#" not in answer[:-2]:
            got = self.socket.recv(65536)
            if not got:
                break
            answer += got
        self.socket.sendall(b"+")
        packed = answer.partition(b"$")[2].partition(b"#")[0].decode()
        # A character, a star and a byte n stand for the character, and n - 29 more of it.
        return re.sub(r"(.)\*(.)", lambda run: run[1] * (ord(run[2]) - 28), packed)

    def end(self) -> None:
        self.socket.close()
        self.process.kill()
        self.process.wait()


def words_at(elf: ELFFile, start: int, count: int) -> tuple[int, ...]:
    """Words of a PowerPC's image, by their address."""
    for section in elf.iter_sections():
        at = start - section["sh_addr"]
        if section["sh_type"] == "SHT_PROGBITS" and 0 <= at < section["sh_size"]:
            return struct.unpack(f">{count}I", section.data()[at : at + 4 * count])
    raise AssertionError(f"{start:#x} is in no section")


def unlisted(replaced: set[str]) -> list[str]:
    """Names that boots list without a reason, and names with a reason that no boot lists."""
    listed = {name for boot in BOOTS + SLOW for name in boot.differs.split()}
    reasons = {*PLACES, *POINTERS, *DATA}
    baseless = {name for name in listed - reasons - replaced if not FAMILIES.match(name)}
    return [
        *(f"a boot lists {name}, which nothing writes" for name in sorted(baseless)),
        *(f"no boot lists {name}" for name in sorted(reasons - listed)),
    ]


def differing(image: Path, stopped: Stopped, listed: set[str], size: int) -> list[str]:
    """What contradicts the list: places of the text that differ from the image, and names that do not.

    At each name `size` bytes may differ; of data, all.
    """
    with image.open("rb") as file:
        elf = ELFFile(file)
        text, named = elf.get_section_by_name(".text"), elf.get_section_by_name(".symtab")
        assert text is not None
        assert isinstance(named, SymbolTableSection)
        start, expected = text["sh_addr"], bytearray(text.data())
        table = [symbol for symbol in named.iter_symbols() if symbol.name]
        symbols = sorted((symbol["st_value"], symbol.name) for symbol in table)
        by_name = {name: address for address, name in symbols}
        for name in POINTERS.keys() & by_name.keys():
            by_name[name] = words_at(elf, by_name[name], 1)[0]
        if stopped.machine.startswith("ppc970"):
            first = by_name["forms64"]
            words = words_at(elf, first, (by_name["forms64_end"] - first) // 4)
            for address, instruction in zip(words[::2], words[1::2], strict=True):
                if start <= address < start + len(expected):
                    struct.pack_into(">I", expected, address - start, instruction)
    stop = f"0,{by_name['sys_exit_group']:x},4"
    stopped.ask(f"Z{stop}")
    if not (answer := stopped.ask("c")).startswith("T05"):
        return [f"the boot did not reach an exit: {answer}"]
    stopped.ask(f"z{stop}")
    read = b"".join(
        bytes.fromhex(stopped.ask(f"m{start + at:x},{min(CHUNK, len(expected) - at):x}"))
        for at in range(0, len(expected), CHUNK)
    )
    sizes = {symbol.name: symbol["st_size"] for symbol in table if symbol.name in DATA}
    lost = {start + at for at, (a, b) in enumerate(zip(expected, read, strict=True)) if a != b}
    found = [f"the image has no {name}" for name in sorted(listed - by_name.keys())]
    for name in sorted(listed & by_name.keys()):
        place = set(range(by_name[name], by_name[name] + sizes.get(name, size)))
        if not place & lost:
            found.append(f"{name} does not differ")
        lost -= place
    near = {max((symbol for symbol in symbols if symbol[0] <= place), default=(0, "?")) for place in lost}
    return found + [f"{name} differs at or behind {address:#x}" for address, name in sorted(near)]


def check(*, whole: bool) -> int:
    """Boots the slow machines too if `whole`. Returns the number of boots whose text differs otherwise than listed."""
    replaced = {name for path in KERNEL.rglob("*.c") for name in replaced_in(path.read_text(encoding="utf-8"))}
    lists = unlisted(replaced)
    for sentence in lists:
        print(f"text: {sentence}")
    failed = 0
    boots = BOOTS + SLOW if whole else BOOTS
    for boot in boots:
        suffix = "" if boot.arch == "ppc" else f"-{boot.arch}"
        image = BUILD / f"kernel{suffix}" / ("vmlinux" if processors_of(boot.machine) == 1 else "vmlinux-smp")
        with tempfile.NamedTemporaryFile(suffix=".cpio") as initramfs:
            initramfs.write(packed({"bin/hello": "hello"}, BUILD / f"user{suffix}"))
            initramfs.flush()
            stopped = Stopped(boot.machine, image, Path(initramfs.name), boot.words)
            try:
                wrong = differing(image, stopped, set(boot.differs.split()), SIZES[boot.arch])
            finally:
                stopped.end()
        failed += bool(wrong)
        for sentence in wrong:
            print(f"text: {boot.machine} {boot.words}: {sentence}")
    print(f"text: {len(boots) - failed} of {len(boots)} boots run the text of their image, but for what they list")
    return failed + len(lists)
