from pathlib import Path

import pytest
from powerpc import machine_names

from pagewalk import kernel_image, machines, policies
from pagewalk.errors import BadInput


def test_a_kernel_image_names_its_policies(small_kernel: bytes) -> None:
    found = {policy.name: policy for policy in kernel_image.policies(small_kernel)}
    assert list(found) == [
        "icache.flush", "kernel.map", "pipe.transfer", "range.flush", "reload", "shootdown", "tlb.cutoff", "tlb.flush",
        "unmap.flush", "vsid",
    ]  # fmt: skip
    assert found["vsid"].choices == ("pid", "scatter:<multiplier>")
    assert (found["vsid"].when, found["vsid"].counter) == ("boot", "issued")
    assert found["tlb.flush"].counter == ""
    assert (found["tlb.flush"].default, found["reload"].default) == ("search", "asm")


def test_another_file_is_no_kernel_image() -> None:
    with pytest.raises(BadInput, match="not an ELF file"):
        kernel_image.policies(b"text")
    with pytest.raises(BadInput, match=r"has no section \.policies"):
        kernel_image.policies(Path("/bin/true").read_bytes())


@pytest.mark.usefixtures("small_policies")
@pytest.mark.parametrize("word", ["tlb.cutoff=off", "tlb.cutoff=20", "vsid=scatter:897", "vsid=pid"])
def test_a_choice_is_accepted(word: str) -> None:
    name, value = word.split("=")
    assert policies.parse_words([word]) == {name: value}


@pytest.mark.usefixtures("small_policies")
@pytest.mark.parametrize(
    ("word", "complaint", "hint"),
    [
        ("tlb.cutof=20", "unknown policy 'tlb.cutof'", "did you mean 'tlb.cutoff'?"),
        ("tlb.cutoff=many", "policy tlb.cutoff has no choice 'many'", "choices: off, <pages>"),
        (
            "vsid=scatter:",
            "policy vsid has no choice 'scatter:'",
            "did you mean 'scatter:<multiplier>'? choices: pid, scatter:<multiplier>",
        ),
        ("lazy", "'lazy' is not a policy setting", "write name=value, as in tlb.cutoff=20, or a named set: best"),
    ],
)
def test_a_wrong_word_is_refused(word: str, complaint: str, hint: str) -> None:
    with pytest.raises(BadInput) as error:
        policies.parse_words([word])
    assert (error.value.message, error.value.hint) == (complaint, hint)


@pytest.mark.built
@pytest.mark.parametrize("machine", machine_names())
def test_every_machine_has_a_best_set_that_the_kernel_knows(machine: str) -> None:
    best = policies.expanded({policies.NAMED: "best"}, machines.find(machine).core)
    assert policies.checked(best) == best


ORIGINALS = {
    "cache.broadcast": ("on", "off"),
    "icache.flush": ("twice", "mapping"),
    "ready.queue": ("full", "waiting"),
    "range.flush": ("every", "tables"),
    "return.flush": ("caches", "none"),
    "switch.flush": ("tlb", "none"),
    "unmap.flush": ("twice", "once"),
}
"""The originals that no kernel of today would have, and what is the default instead (docs/policies.md)."""


def test_the_first_choice_is_the_original_and_the_default_may_be_another() -> None:
    found = {name: (policy.choices[0], policy.default) for name, policy in policies.all_policies().items()}
    assert {name: pair for name, pair in found.items() if pair[0] != pair[1]} == ORIGINALS
