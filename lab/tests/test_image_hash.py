"""The hash of a kernel image counts what a run can depend on, and nothing else."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from pagewalk.image_hash import image_hash


@pytest.fixture(scope="module", params=["powerpc-linux-gnu-", ""])
def images(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """An image with debugging information, and the same without."""
    folder = tmp_path_factory.mktemp("image")
    (folder / "a.c").write_text(
        '__attribute__((section(".policies"))) int shown = 0x5ca1ab1e;\n'
        "static int hidden; int _start(void) { return hidden + shown; }\n"
    )
    bits = [] if request.param else ["-m32"]
    for name, options in (("with", ["-g"]), ("without", ["-g", "-Wl,--strip-debug"])):
        subprocess.run(
            [
                f"{request.param}gcc",
                *bits,
                *options,
                "-nostdlib",
                "-static",
                "-Wl,--build-id=none",
                "-o",
                folder / name,
                folder / "a.c",
            ],
            check=True,
        )
    return (folder / "with").read_bytes(), (folder / "without").read_bytes()


def test_debugging_information_does_not_count(images: tuple[bytes, bytes]) -> None:
    whole, stripped = images
    assert len(stripped) < len(whole)
    assert image_hash(whole) == image_hash(stripped)


def test_data_and_names_count(images: tuple[bytes, bytes]) -> None:
    whole, _ = images
    renamed = whole.replace(b"shown", b"known")
    assert image_hash(renamed) != image_hash(whole)
    number = (0x5CA1AB1E).to_bytes(4, "big" if b"\x5c\xa1\xab\x1e" in whole else "little")
    assert number in whole
    assert image_hash(whole.replace(number, bytes(4))) != image_hash(whole)


def test_another_file_counts_with_all_its_bytes(images: tuple[bytes, bytes], tmp_path: Path) -> None:
    whole, _ = images
    for data in (b"", b"kernel", whole[:40], whole[:2000], whole[:-100]):
        assert image_hash(data) == hashlib.sha256(data).hexdigest()
    assert image_hash(b"kernel") != image_hash(b"kernel ")


def test_another_kernel_has_the_hash_of_its_file(images: tuple[bytes, bytes]) -> None:
    for data in (image.replace(b".policies", b".politics") for image in images):
        assert image_hash(data) == hashlib.sha256(data).hexdigest()
