"""What tests share: a kernel image that declares policies as the kernel does."""

from __future__ import annotations

import os
import subprocess

import pytest

from pagewalk import kernel_image, policies

# pytest loads GNU readline, which puts COLUMNS into the environment that programs inherit: tables would be narrow.
os.unsetenv("COLUMNS")

SOURCE = """
struct policy { const char *name; const char *const *choices; int when; void *apply;
                const char *counter_name; const void *counter; void *now; };
#define CHOICES(...) ((const char *const[]){ __VA_ARGS__, 0 })
#define POLICY(ident, name, choices, when, counter, first) \\
    static int now_##ident[2] = { first }; \\
    static const struct policy policy_##ident \\
        __attribute__((used, section(".policies"), aligned(4))) = { name, choices, when, 0, counter, 0, now_##ident }
POLICY(cutoff, "tlb.cutoff", CHOICES("off", "<pages>"), 1, "flushed", 0);
POLICY(flush, "tlb.flush", CHOICES("search", "lazy"), 1, 0, 0);
POLICY(vsid, "vsid", CHOICES("pid", "scatter:<multiplier>"), 2, "issued", 0);
POLICY(reload, "reload", CHOICES("c", "asm"), 1, 0, 1);
POLICY(map, "kernel.map", CHOICES("pte", "bat"), 2, 0, 0);
POLICY(transfer, "pipe.transfer", CHOICES("copy", "page", "direct"), 0, "transfers", 0);
POLICY(unmap, "unmap.flush", CHOICES("twice", "once"), 1, "repeated", 1);
POLICY(range, "range.flush", CHOICES("every", "tables"), 1, 0, 1);
POLICY(icache, "icache.flush", CHOICES("every", "page", "mapping"), 0, "flushed", 2);
POLICY(shootdown, "shootdown", CHOICES("queue", "short"), 0, "shootdowns", 0);
void _start(void) { }
"""


@pytest.fixture(scope="session")
def small_kernel(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("kernel")
    (folder / "kernel.c").write_text(SOURCE)
    subprocess.run(
        ["powerpc-linux-gnu-gcc", "-nostdlib", "-static", "-o", str(folder / "kernel"), str(folder / "kernel.c")],
        check=True,
    )
    return (folder / "kernel").read_bytes()


@pytest.fixture
def small_policies(small_kernel: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The policies of the small kernel in the place of the built one's."""
    known = {
        found.name: policies.Policy(
            found.name,
            found.choices,
            found.when,
            found.counter,
            policies.descriptions().get(found.name, policies.Description()),
            found.default,
        )
        for found in kernel_image.policies(small_kernel)
    }
    monkeypatch.setattr(policies, "all_policies", lambda *_: known)
