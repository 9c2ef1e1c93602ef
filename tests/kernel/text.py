"""Checks that the text which runs is the text of the image: boots, stops at the first `exit`, and compares.

Gdb's remote protocol stops the machine and reads its memory. Only the places that are listed here and the first
instruction of a function that `arch_replace()` replaces may differ. A 970 has other instructions where `forms64` says.
The vectors, into which the kernel copies code images, are no part of `.text`.
"""

from __future__ import annotations

import re
import socket
import struct
import subprocess
import tempfile
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from suite.places import BUILD, machine_file, processors_of

from kernel.replaced import KERNEL, replaced_in
from kernel.runs import RUNNER, packed

BOOTS = (
    ("ppc", "ppc604-133", "kernel.map=bat"),
    ("ppc", "ppc604-133", "kernel.map=bat hpte.slot=noted reload.count=on entry=lean ipc.path=fast preload=switch"),
    ("ppc", "ppc604-133", "kernel.map=bat ready.queue=lazy"),
    ("ppc", "ppc603-133", "kernel.map=bat entry=lean return.flush=caches copy.count=on"),
    ("ppc", "ppc970-1600", "kernel.map=large hpte.slot=noted reload.count=on"),
    ("ppc", "ppc405-200", "kernel.map=large icache.flush=exec"),
    ("ppc", "mpc855t-48", "pin=ram reload=asm"),
    ("ppc", "ppc604-185x2", "kernel.map=bat shootdown=short"),
    ("x86", "i486dx-50", "entry=lean"),
)
"""Gdb reads memory that a BAT, a large page or a page table maps. What only the hash table maps it cannot read."""
SLOW = (("x86", "p6-200x2", "check=on"),)
"""Half a minute of the computer's time: the second processor waits for long."""
PLACES = {
    "enter": "entry=lean",
    "enter_with_task": "entry=lean",
    "switch_preload": "preload=switch",
    "segments_load_end": "QEMU's 603",
    "segment_load_end": "the same",
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


def stale() -> list[str]:
    """Names in this file's tables that no image has."""
    found: set[str] = set()
    for arch in SIZES:
        for image in ("vmlinux", "vmlinux-smp"):
            with (BUILD / f"kernel{'' if arch == 'ppc' else '-x86'}" / image).open("rb") as file:
                table = ELFFile(file).get_section_by_name(".symtab")
                assert isinstance(table, SymbolTableSection)
                found |= {symbol.name for symbol in table.iter_symbols()}
    return sorted({*PLACES, *POINTERS, *DATA} - found)


def differing(image: Path, stopped: Stopped, allowed: set[str], size: int) -> tuple[list[str], int]:
    """The places of the text that are not as in the image and may not differ; how many bytes differ that may.

    At each allowed name `size` bytes may differ."""
    with image.open("rb") as file:
        elf = ELFFile(file)
        text, named = elf.get_section_by_name(".text"), elf.get_section_by_name(".symtab")
        assert text is not None
        assert isinstance(named, SymbolTableSection)
        start, expected = text["sh_addr"], bytearray(text.data())
        table = [symbol for symbol in named.iter_symbols() if symbol.name]
        symbols = sorted((symbol["st_value"], symbol.name) for symbol in table)
        by_name = {name: address for address, name in symbols}
        placed = {words_at(elf, by_name[name], 1)[0] for name in POINTERS if name in by_name}
        if stopped.machine.startswith("ppc970"):
            first = by_name["forms64"]
            words = words_at(elf, first, (by_name["forms64_end"] - first) // 4)
            for address, instruction in zip(words[::2], words[1::2], strict=True):
                if start <= address < start + len(expected):
                    struct.pack_into(">I", expected, address - start, instruction)
    stop = f"0,{by_name['sys_exit_group']:x},4"
    stopped.ask(f"Z{stop}")
    if not (answer := stopped.ask("c")).startswith("T05"):
        return [f"the boot did not reach an exit: {answer}"], 0
    stopped.ask(f"z{stop}")
    read = b"".join(
        bytes.fromhex(stopped.ask(f"m{start + at:x},{min(CHUNK, len(expected) - at):x}"))
        for at in range(0, len(expected), CHUNK)
    )
    may = {by_name[name] + byte for name in allowed if name in by_name for byte in range(size)}
    may |= {address + byte for address in placed for byte in range(4)}
    may |= {address + byte for address, name in symbols if FAMILIES.match(name) for byte in range(4)}
    for symbol in table:
        if symbol.name in DATA:
            may.update(range(symbol["st_value"], symbol["st_value"] + symbol["st_size"]))
    wrong = [start + at for at, (a, b) in enumerate(zip(expected, read, strict=True)) if a != b]
    lost = [place for place in wrong if place not in may]
    near = {max((symbol for symbol in symbols if symbol[0] <= place), default=(0, "?")) for place in lost}
    return [f"{name} differs at or behind {address:#x}" for address, name in sorted(near)], len(wrong) - len(lost)


def check(*, whole: bool) -> int:
    """Boots the slow machines too if `whole`. Returns the number of boots whose text is not that of the image."""
    replaced = {name for path in KERNEL.rglob("*.c") for name in replaced_in(path.read_text(encoding="utf-8"))}
    lost = stale()
    for name in lost:
        print(f"text: no image has the symbol {name}, which the check allows to differ")
    failed = seen = 0
    boots = BOOTS + SLOW if whole else BOOTS
    for arch, machine, words in boots:
        suffix = "" if arch == "ppc" else f"-{arch}"
        image = BUILD / f"kernel{suffix}" / ("vmlinux" if processors_of(machine) == 1 else "vmlinux-smp")
        with tempfile.NamedTemporaryFile(suffix=".cpio") as initramfs:
            initramfs.write(packed({"bin/hello": "hello"}, BUILD / f"user{suffix}"))
            initramfs.flush()
            stopped = Stopped(machine, image, Path(initramfs.name), words)
            try:
                wrong, listed = differing(image, stopped, replaced | PLACES.keys(), SIZES[arch])
            finally:
                stopped.end()
        failed += bool(wrong)
        seen += listed
        for sentence in wrong:
            print(f"text: {machine} {words}: {sentence}")
    if not seen:
        print("text: the check sees none of the words that policies write")
        failed += 1
    print(f"text: {len(boots) - failed} of {len(boots)} boots run the text of their image")
    return failed + len(lost)
