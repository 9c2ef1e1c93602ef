"""The kernel's own samples by the performance monitor, beside the exact cycles of the same run."""

import math
import subprocess
from pathlib import Path

import pytest

from pagewalk import guest, native
from pagewalk.guest import Program
from pagewalk.workshop import Workshop

pytestmark = [pytest.mark.built]

PERIOD = 50021
REGION = 7
DEVIATIONS = 5

SOURCE = f"""
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#define PAGES 64
int main(int count, char **words)
{{
	int file = open("/proc/profile", O_RDWR), device = open("/dev/pagewalk", O_RDWR);
	volatile uint32_t *control = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, device, 0);
	char line[128];
	FILE *report;

	if (count != 2 || control == MAP_FAILED || write(file, "{PERIOD}", 5) != 5)
		return 1;
	control[0] = {REGION};
	for (int turn = 0; turn < atoi(words[1]); turn++) {{
		char *at = mmap(0, PAGES << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (int page = 0; page < PAGES - turn % 13; page++)
			at[page << 12] = 1;
		munmap(at, PAGES << 12);
	}}
	control[1] = {REGION};
	if (write(file, "0", 1) != 1 || !(report = fopen("/proc/profile", "r")))
		return 2;
	while (fgets(line, sizeof(line), report))
		fputs(line, stdout);
	return 0;
}}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sampling")
    (folder / "touch.c").write_text(SOURCE)
    subprocess.run(
        ["powerpc-linux-gnu-gcc", "-static", "-O2", "-o", folder / "touch", folder / "touch.c"],
        check=True,
    )
    return folder / "touch"


@pytest.mark.parametrize("machine", ["ppc604-133", "ppc750-400"])
def test_samples_agree_with_the_exact_cycles(machine: str, program: Path) -> None:
    """Of n samples, a category with the part p of all cycles has n p, with a standard deviation of sqrt(n p (1 - p)).

    Each may be off by five of them. The sum may be off by a hundredth: the handler stops the clock for some cycles each
    period. It runs behind each sample, so no sample is of it; the period is so long that this does not show. No stretch
    without interrupts is longer, so no sample is lost. The turns differ in length: equal ones beat with the period.
    """
    runner = native.NativeRunner()
    job = guest.job(
        Workshop(runner), machine, Program(program, ("200",), ()), overrides={}, settings={"icache.flush": "every"}
    )
    result = runner.run(job, lambda _: True)
    printed = result.console.decode()
    lines = (line.partition(" ") for line in printed.splitlines())
    found = {name: int(number) for name, _, number in lines if number.isdigit()}
    exact = result.regions[REGION]
    cycles = exact["cycles"]
    samples = sum(found[name] for name in ("user", "idle", "kernel", "other", "lost"))
    assert abs(samples * PERIOD - cycles) < cycles / 100, printed
    assert found["lost"] == 0, printed
    for cause in ("user", "coherence", "clear", "fault", "entry", "reload", "flush"):
        part = exact[f"cycles.cause.{cause}"] / cycles
        counted = found[cause if cause == "user" else f"cause.{cause}"]
        deviation = math.sqrt(samples * part * (1 - part))
        assert abs(counted - samples * part) < DEVIATIONS * deviation, (cause, samples * part, printed)
    assert found["cause.coherence"] > samples / 4, printed
