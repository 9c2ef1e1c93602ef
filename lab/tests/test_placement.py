"""Seeds move what they say, and nothing else."""

import struct
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from pagewalk import placement
from pagewalk.errors import NotBuilt
from pagewalk.initramfs import Initramfs
from pagewalk.paths import home
from pagewalk.placement import AS_BUILT, Placement, linked, linked_program


def archive(program: Path) -> Initramfs:
    made = Initramfs()
    made.copy("/bin/program", program)
    made.file("/etc/words", b"no program")
    return made


def data_size(program: bytes) -> int:
    """The bytes in memory of all segments."""
    (table,) = struct.unpack_from(">I", program, 28)
    (count,) = struct.unpack_from(">H", program, 44)
    return sum(int(struct.unpack_from(">I", program, table + 32 * number + 20)[0]) for number in range(count))


def test_the_first_seed_is_the_build_as_it_is() -> None:
    program = home().built(home().build / "user" / "hello", "hello")
    plain, moved = archive(program), archive(program)
    assert Placement.of_seed(0) == AS_BUILT
    AS_BUILT.apply(moved)
    assert moved.pack() == plain.pack()
    assert AS_BUILT.init_options == []


def test_a_seed_moves_frames_heaps_and_stacks() -> None:
    program = home().built(home().build / "user" / "hello", "hello")
    found = [Placement.of_seed(seed) for seed in range(1, 8)]
    assert len({(one.frames, one.heap, one.stack) for one in found}) == 7
    assert found[0] == Placement.of_seed(1)
    moved = archive(program)
    found[0].apply(moved)
    assert len(moved.entries["etc/placement"].data) == 4096 * found[0].frames
    assert data_size(moved.entries["bin/program"].data) == data_size(program.read_bytes()) + 4096 * found[0].heap
    assert moved.entries["etc/words"].data == b"no program"
    assert found[0].init_options == [f"stack={found[0].stack}"]


def test_a_seed_moves_frames_heaps_and_stacks_of_a_ram_disk() -> None:
    program = home().built(home().build / "user" / "old" / "hello", "hello")
    plain, moved, found = archive(program), archive(program), Placement.of_seed(2)
    AS_BUILT.apply_to_disk(plain)
    assert "etc/placement" not in plain.entries
    found.apply_to_disk(moved)
    told = f"frames={found.frames}\nstack={found.stack}\n"
    assert moved.entries["etc/placement"].data == told.encode()
    assert data_size(moved.entries["bin/program"].data) == data_size(program.read_bytes()) + 4096 * found.heap


def symbols(program: Path) -> dict[str, int]:
    """The addresses of its functions."""
    with program.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        return {one.name: one["st_value"] for one in table.iter_symbols() if one["st_info"]["type"] == "STT_FUNC"}


def test_a_seed_links_a_program_for_old_kernels_in_another_order() -> None:
    folder = home().built(home().build / "user" / "old", "the programs for old kernels")
    assert linked_program(folder, "fork", AS_BUILT) == folder / "fork"
    plain, moved, again = (symbols(linked_program(folder, "fork", Placement.of_seed(seed))) for seed in (0, 1, 1))
    assert moved == again
    assert plain.keys() == moved.keys()
    assert sorted(plain, key=plain.__getitem__) != sorted(moved, key=moved.__getitem__)


def test_a_kernel_that_cannot_be_linked_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "_MAKE", ("false",))
    with pytest.raises(NotBuilt, match="seed 3 cannot be linked"):
        linked(tmp_path, "vmlinux", Placement.of_seed(3))
    with pytest.raises(NotBuilt, match="fork of seed 3 cannot be linked"):
        linked_program(tmp_path, "fork", Placement.of_seed(3))
