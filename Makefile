# pagewalk: everything a person does with a checkout.
#
#   make run     installs what is missing, builds, and measures Table 2 of osdi99
#   make test    runs every test but those of the x86 kernel (make test-x86) and those with other people's kernels
#   make         builds: machine, kernel, programs, lab
#   make bench   how fast the machine simulates
#   make constants  what a TLB miss costs on the machines, beside the published figures
#   make soak    millions of random instruction sequences, then the suite on every kind of processor, with
#                the kernel's invariant checker on
#   make soak-policies  attacks and tests under random combinations of the kernel's policies
#   make soak-planted   errors put into the flushes of our kernel and of Linux, which the translation sanitizer must find
#   make soak-silent    good kernels under stress, which the translation sanitizer must find nothing in
#   make soak-shootdown  the kernel's tests by each form of TLB shootdown on two and four processors
#   make x86     builds kernel and user programs for the x86 machines
#   make riscv   builds programs for Linux on the RISC-V machines
#   make riscv-costs  what loads and fences cost on these machines, without a kernel
#   make test-x86  the kernel for x86, on QEMU's PC, and Linux on the x86 machines
#   make test-linux  Linux on the PowerPC machines, and the same calls on Linux and on our kernel
#   make test-riscv  Linux on the RISC-V machines
#   make soak-riscv  each Linux on each RISC-V machine with the shortcuts and without, and programs of other people on Linux
#   make linux   builds real Linux for the machines, and prints its benchmark rows beside ours
#   make compilers  builds GCC, binutils, bash, make and coreutils to run on the machine, for the experiments that measure a compile
#   make docs    runs every experiment with seven placements and makes the pages that show their results; goes on where it
#                was interrupted. make docs-cost says what is left to run
#   make wheel   packs the lab, the kernel, the programs, the machines and the experiments into build/wheel/*.whl, which
#                pip installs on another computer without a compiler
#   make site    builds the documentation as a site, site/index.html, which needs no network
#   make clean   removes what was built (results and .venv stay)
#
# Each step leaves a stamp in build/stamps and is done again only when what it depends on has changed.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory

STAMPS := build/stamps
PYTHON := .venv/bin/python
PAGEWALK := .venv/bin/pagewalk

rust_sources := $(shell find machine lab/src lab/Cargo.toml Cargo.toml Cargo.lock -name target -prune -o -type f -print)

heading = @printf '\n== %s\n' "$(1)"

.PHONY: all ready wheel site run test bench constants riscv-costs soak soak-instructions soak-cases soak-calls soak-files soak-fuzz soak-miri soak-miri-machine soak-shootdown soak-policies soak-planted soak-silent soak-riscv soak-mach docs docs-cost clean kernel user x86 riscv programs compilers lint lint-rust lint-python test-rust test-lab test-kernel \
	test-cross test-x86 test-riscv test-linux linux linux-kernels

# The build scripts of other people's programs split paths at spaces.
unspaced := x86 riscv wheel programs compilers test test-rust test-lab test-cross test-x86 test-riscv linux docs soak soak-cases soak-calls soak-files soak-shootdown soak-riscv
ifneq ($(word 2,$(CURDIR)),)
ifneq ($(filter $(unspaced),$(MAKECMDGOALS)),)
$(error make $(filter $(unspaced),$(MAKECMDGOALS)): the folder "$(CURDIR)" has a space in its path, at which the build scripts of other people's programs split it: move the checkout. "make" and "make run" work here)
endif
endif

all: $(STAMPS)/machine ready

ready: $(STAMPS)/lab kernel user build/constants.elf

run: ready
	$(call heading,Table 2 of osdi99: the optimisation off and on$(comma) published and measured)
	$(PAGEWALK) run osdi99-table2

# Building --------------------------------------------------------------------
$(STAMPS)/bootstrap-rust: bootstrap
	./bootstrap rust
	@mkdir -p $(@D) && touch $@

$(STAMPS)/bootstrap-run: bootstrap lab/requirements.txt
	$(call heading,What building and running need)
	./bootstrap run
	@mkdir -p $(@D) && touch $@

$(STAMPS)/bootstrap-test: bootstrap lab/requirements.txt lab/requirements-test.txt lab/requirements-docs.txt
	$(call heading,What the tests need)
	./bootstrap test
	@mkdir -p $(@D) && touch $@

$(STAMPS)/machine: $(STAMPS)/bootstrap-rust $(rust_sources)
	$(call heading,The plain runner of the machine)
	cargo build --release -p pagewalk-machine -p pagewalk-lab --bin pagewalk-machine
	@touch $@

# The binding contains the machine, too. It compiles nothing again, because the runner's dependencies have the features that
# the lab wants.
$(STAMPS)/lab: $(STAMPS)/bootstrap-run $(rust_sources) lab/pyproject.toml
	$(call heading,The lab: the machine in Rust$(comma) bound to Python)
	cd lab && PIP_QUIET=1 VIRTUAL_ENV="$$PWD/../.venv" ../.venv/bin/maturin develop --release
	@touch $@

kernel: $(STAMPS)/bootstrap-run
	$(call heading,The kernel)
	$(MAKE) -C kernel

user: $(STAMPS)/bootstrap-run
	$(call heading,The user programs)
	$(MAKE) -C user

# The same for the x86 machines, with musl from Debian's source package. No part of `make`: nothing else needs it. The
# lock is that of the scripts for PowerPC, which download to the same folder.
x86: $(STAMPS)/bootstrap-test
	$(call heading,The kernel and the user programs for x86)
	@mkdir -p build/programs
	flock build/programs/lock env PROGRAMS_ARCH=x86 tests/programs/musl.sh
	$(MAKE) -C kernel ARCH=x86
	$(MAKE) -C user ARCH=x86

# Programs for Linux on the RISC-V machines, and the init that starts them.
riscv: $(STAMPS)/bootstrap-test
	$(call heading,Programs for Linux on RISC-V)
	$(MAKE) -C user ARCH=riscv

# Programs of other people, from Debian's source packages: what the compile workload and the suite run.
programs: $(STAMPS)/bootstrap-test
	$(call heading,busybox$(comma) TinyCC$(comma) Lua$(comma) SQLite and their C libraries)
	tests/programs/build.sh
	tests/programs/qemu.sh

# GCC, binutils, bash, make and coreutils, from Debian's source packages, to run on the machine: for the experiments that measure
# a compile. It takes ten minutes of one core, so that no test needs it.
compilers: programs
	$(call heading,GCC's C compiler$(comma) binutils$(comma) bash$(comma) make and coreutils)
	tests/programs/gcc.sh
	tests/programs/binutils.sh
	tests/programs/bash.sh
	tests/programs/make.sh
	tests/programs/coreutils.sh

# Packing -----------------------------------------------------------------------
# The wheel has what runs need, and the kernels of `--seeds 7`. maturin packs what is in lab/pagewalk/data.
DATA := lab/pagewalk/data
PACKED := build/packed
WHEEL_PROFILE ?= --release
WHEEL_KERNELS := $(foreach folder,. $(addprefix seed-,1 2 3 4 5 6),$(addprefix build/kernel/$(folder)/,vmlinux vmlinux-unordered vmlinux-smp))
WHEEL_PROGRAMS := $(addprefix build/user/,hello init init-linux bench old) $(addprefix build/user-x86/,hello init init-linux bench mach)
WHEEL_X86 := $(addprefix build/kernel-x86/,vmlinux vmlinux-unordered vmlinux-smp)
# Without debugging sections: they are no part of a run's key.
wheel: ready x86
	$(call heading,One wheel with the machine$(comma) the kernel$(comma) the programs and the experiments)
	$(MAKE) -s -C kernel $(addprefix ../,$(WHEEL_KERNELS))
	$(MAKE) -s -C user old-seeds
	rm -rf $(DATA) $(PACKED) build/wheel && mkdir -p $(DATA) $(PACKED)
	cp -r --parents machines experiments subjects LICENSE build/constants.elf $(WHEEL_KERNELS) $(WHEEL_X86) $(WHEEL_PROGRAMS) $(PACKED)
	powerpc-linux-gnu-strip --strip-debug $(addprefix $(PACKED)/,$(WHEEL_KERNELS))
	strip --strip-debug $(addprefix $(PACKED)/,$(WHEEL_X86))
	cp --parents user/*.list user/bench/README.md $(PACKED)
	tar -C $(PACKED) --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -c . | xz -9 -T1 > $(DATA)/data.tar.xz
	sha256sum $(DATA)/data.tar.xz | cut -c 1-16 > $(DATA)/key
	$(PYTHON) -c 'from pagewalk.report import embed; print(embed.library(), end="")' > build/vega.js && mv build/vega.js $(DATA)
	cd lab && ../.venv/bin/maturin build --quiet $(WHEEL_PROFILE) --out ../build/wheel
	rm -rf $(DATA) $(PACKED)
	@ls build/wheel/*.whl

# Testing ---------------------------------------------------------------------
# Two parts at a time; each part's output comes whole, when it has ended. First the tools are installed while the machine
# is compiled. Then come the parts that keep one core busy, and last those that keep two.
test:
	$(call heading,What the tests need$(comma) and the plain runner of the machine)
	$(MAKE) -j2 --output-sync=target $(STAMPS)/bootstrap-test $(STAMPS)/machine
	$(call heading,Lints$(comma) and tests of machine$(comma) kernel$(comma) lab$(comma) and what crosses the parts: two at a time)
	$(MAKE) -j2 --output-sync=target lint-python test-lab test-cross test-kernel test-rust

lint: lint-rust lint-python

# Clippy and the machine's tests share what they compile, so that the tests come after it.
lint-rust: $(STAMPS)/bootstrap-test
	$(call heading,Formatting and lints of the Rust code)
	cargo fmt --all --check
	cargo clippy --profile tests --workspace --all-targets -- -D warnings

lint-python: $(STAMPS)/lab $(STAMPS)/bootstrap-test
	$(call heading,Formatting$(comma) lints and types of the Python code$(comma) names in the kernel$(comma) calls that it lacks)
	.venv/bin/ruff format --check --config lab/pyproject.toml tests kernel
	.venv/bin/ruff check --config lab/pyproject.toml tests kernel
	cd lab && ../.venv/bin/ruff format --check . && ../.venv/bin/ruff check . && ../.venv/bin/mypy
	cd lab && MYPYPATH=../tests ../.venv/bin/mypy -p suite -p kernel -p lmbench -p linux && ../.venv/bin/mypy ../kernel/syscall/generate.py
	cd tests && PYTHONPATH=. ../.venv/bin/python -m kernel columns missing names

# Property tests draw the same cases each time, so that a commit passes always or never; `make soak-cases` draws others.
RANDOM_SEED ?= 1
test-rust: lint-rust kernel user programs $(STAMPS)/bootstrap-test
	$(call heading,The machine's tests)
	PROPTEST_RNG_SEED=$(RANDOM_SEED) cargo test --profile tests -p pagewalk-machine

test-lab: $(STAMPS)/machine ready x86 wheel programs $(STAMPS)/bootstrap-test
	$(call heading,The lab's tests)
	cd lab && ../.venv/bin/python -m pytest

# What takes many boots: pairs of policies' choices, every allocation failing once, what a boot costs.
test-kernel: $(STAMPS)/machine ready $(STAMPS)/bootstrap-test
	$(call heading,The kernel under its policies and without memory)
	$(MAKE) -C kernel test
	cd tests && PYTHONPATH=. ../.venv/bin/python -m kernel

# Every program on our kernel and on Linux under qemu-ppc, with the same visible behaviour. `make soak` has the other
# processors; `test-kernel` runs our own tests on a 603, too.
test-cross: $(STAMPS)/machine ready programs
	$(call heading,Programs on our kernel and on Linux)
	cd tests && PYTHONPATH=. ../.venv/bin/python -m suite --machine ppc604-133
	cd tests && PYTHONPATH=. ../.venv/bin/python -m suite --machine ppc604-133 --options check=sleep --group user \
		$(addprefix --case ,copy cow exec fork memory mmap policy thread_memory)
	cd tests && PYTHONPATH=. ../.venv/bin/python -m suite --machine ppc970-1600 --group user \
		$(addprefix --case ,copy cow exec fetch fork ipc_memory mapping mmap pipe policy signal wide)

# The kernel for x86, its programs and other people's, on QEMU's PC; faults made on purpose, attacks and panics on the x86
# machines; and real Linux on them, built once for all checkouts. No part of `make test`.
test-x86: ready
	$(call heading,The kernel and programs for x86$(comma) on QEMU's PC)
	PROGRAMS_ARCH=x86 tests/programs/build.sh
	$(MAKE) -C kernel ARCH=x86 all test
	$(MAKE) -C user ARCH=x86
	cd tests && PYTHONPATH=. PAGEWALK_ARCH=x86 ../.venv/bin/python -m suite --qemu 486 $(addprefix --group ,user hostile fuzz busybox-musl lua-musl \
		sqlite-musl tcc-musl)
	cd tests && PYTHONPATH=. PAGEWALK_ARCH=x86 ../.venv/bin/python -m suite --qemu pentium2x2 --group user --case thread --case x86
	$(call heading,The kernel on the x86 machines)
	cd tests && PYTHONPATH=. PAGEWALK_ARCH=x86 ../.venv/bin/python -m suite --machine i486dx-50 --machine p6-200x2 --group hostile \
		--case i386 --case i386_state --case device --case race
	cd tests && PYTHONPATH=. PAGEWALK_ARCH=x86 ../.venv/bin/python -m suite --machine i486dx-50 --group hostile --case i386_state \
		--options "entry=lean segments=check switch.time=last ipc.switch=direct ipc.path=fast"
	cd tests && PYTHONPATH=. PAGEWALK_ARCH=x86 ../.venv/bin/python -m kernel boot checker images
	$(call heading,Real Linux on the x86 machines)
	cd tests && PYTHONPATH=. PAGEWALK_ARCH=x86 ../.venv/bin/python -m linux

# Linux 6.1 and 6.12 on the RISC-V machines, with and without extensions, their disk, and perf's counters.
test-riscv: ready riscv
	$(call heading,Real Linux on the RISC-V machines)
	cd tests && PYTHONPATH=. PAGEWALK_ARCH=riscv ../.venv/bin/python -m linux

# The smallest Linux, built from Debian's source once for all checkouts: exact counts of a run. No part of `make test`,
# because the build takes as long as the other tests.
test-linux: ready
	$(call heading,Real Linux on the machine)
	cd tests && PYTHONPATH=. ../.venv/bin/python -m linux

# Linux beside our kernel ------------------------------------------------------
LINUX := linux-6.1
linux-kernels: ready
	$(call heading,Linux from Debian's source: some minutes for each kernel$(comma) once)
	$(PAGEWALK) subjects build $(LINUX)-bare-mpc83xx $(LINUX)-bare-mpc8xx $(LINUX)-default-mpc83xx \
		$(LINUX)-default-mpc8xx $(LINUX)-bare-kfence $(LINUX)-bare-4k $(LINUX)-bare-nobats $(LINUX)-bare-pin \
		$(LINUX)-bare-mpc86xx-smp $(LINUX)-bare-ppc405gp $(LINUX)-riscv linux-6.12-riscv linux-6.12-riscv-4k

linux: linux-kernels programs
	$(call heading,Every benchmark row on Linux and on our kernel)
	$(PAGEWALK) run linux || [ $$? = 125 ]
	$(call heading,Our own tests on Linux for a 405)
	cd tests && PYTHONPATH=. ../.venv/bin/python -m suite --kernel $(LINUX)-bare --machine ppc405-200 --group user

# Results that the documentation shows -----------------------------------------
# All pages, from one build and the same results. Each finished run is kept in results/ at once: interrupt `make docs` when
# you like, and the same command goes on from there. `make docs-cost` says how many runs are left, and how long they took
# the last time. SEEDS is how many placements each row is measured with; `make docs SEEDS=1` takes a seventh of the time.
# INPUTS=--extremes measures all inputs fastest and all slowest only, and none alone. `pagewalk claims pages docs` makes the
# pages from what is there.
SEEDS ?= 7
INPUTS ?=
DOCUMENTS := osdi99 ols03 lkml05 sosp93 undeadly07 lmbench96
MEASURED := $(DOCUMENTS) beyond paths smp linux riscv
docs: ready x86 riscv compilers linux-kernels $(STAMPS)/bootstrap-test
	# The build that undeadly07 measures on several P6 needs busybox and TinyCC for x86, too.
	PROGRAMS_ARCH=x86 tests/programs/build.sh musl busybox lua tcc
	# Debian's archive may not have Mach's source. Then Mach's rows have no figure, if it was not built of a folder before.
	$(PAGEWALK) subjects build gnumach-1.8-plain || true
	$(call heading,1 of 5: what is to be measured)
	$(PAGEWALK) run --plan --seeds $(SEEDS) $(MEASURED)
	$(call heading,2 of 5: every experiment with $(SEEDS) placements)
	# A row without a figure is part of the result, and the page says why.
	$(PAGEWALK) run --seeds $(SEEDS) $(MEASURED) || [ $$? = 125 ]
	$(call heading,3 of 5: the compiles of GCC and those with few free frames)
	$(PAGEWALK) run workloads || [ $$? = 125 ]
	$(call heading,4 of 5: every claim with the machines' inputs at their ends)
	$(PAGEWALK) memories $(INPUTS) $(DOCUMENTS) -o docs/memories.md
	$(call heading,5 of 5: the pages$(comma) the pictures and the results that are kept with them)
	$(PAGEWALK) claims pages docs --readme README.md
	$(PAGEWALK) results --keep experiments/measured
	$(PAGEWALK) report -o build/report.html --picture docs/report.png
	cd lab && ../$(PYTHON) pages/notebook.py

docs-cost: ready
	$(PAGEWALK) run --plan --seeds $(SEEDS) $(MEASURED)
	$(PAGEWALK) run --plan workloads

# The reference pages come from the code and the kernel image. mkdocs tells of its next version unless it is told not to.
site: ready $(STAMPS)/bootstrap-test
	$(call heading,The documentation as a site: site/index.html)
	NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true .venv/bin/mkdocs build --quiet --strict

# Measuring and cleaning ------------------------------------------------------
# The hardware costs that the OSDI 1999 paper states, and what the machines show.
build/constants.elf: machine/guest/constants.S $(STAMPS)/bootstrap-run
	powerpc-linux-gnu-gcc -mcpu=603 -nostdlib -static -Wl,-N,-Ttext=0,-e,start,--build-id=none,--no-warn-rwx-segments -o $@ $<

constants: $(STAMPS)/machine build/constants.elf
	$(call heading,What a TLB miss costs$(comma) published and measured)
	target/release/pagewalk-machine constants --program build/constants.elf \
		--machine machines/ppc603-*.toml machines/ppc604-*.toml

# Loads that depend on each other, and fences, on the RISC-V machines (docs/riscv-costs.md).
build/riscv.elf: machine/guest/riscv.c $(STAMPS)/bootstrap-test
	riscv64-linux-gnu-gcc -march=rv64imac_zicsr -mabi=lp64 -mcmodel=medany -O2 -ffreestanding -fno-builtin \
		-fno-tree-loop-distribute-patterns -fno-stack-protector -nostdlib -static -no-pie -Wall -Wextra -Werror \
		-Wl,-Ttext=0x80000000,-N,--build-id=none,--no-warn-rwx-segments,-e,_start -o $@ $<

riscv-costs: ready build/riscv.elf
	$(call heading,What loads and fences cost on the RISC-V machines: docs/riscv-costs.md)
	$(PYTHON) lab/pages/riscv_costs.py

bench: ready x86 $(STAMPS)/bootstrap-test
	$(call heading,How fast the machine simulates)
	cargo bench -p pagewalk-machine --bench speed -- --page $(CURDIR)/docs/bench.md
	$(PYTHON) lab/pages/speed.py

# Random instruction sequences against qemu-ppc, qemu-i386 and qemu-riscv64, and instructions of the x87 unit against this
# computer's, from a new seed each time. The test names the seed of each batch, and `make soak-instructions
# PAGEWALK_SEED=<seed>` makes it again.
PAGEWALK_SEED ?= $(shell date +%s)
PAGEWALK_SEQUENCES ?= 5000000
soak-instructions: $(STAMPS)/bootstrap-test
	$(call heading,Random instruction sequences)
	PAGEWALK_SEED=$(PAGEWALK_SEED) PAGEWALK_SEQUENCES=$(PAGEWALK_SEQUENCES) \
		cargo test --release -p pagewalk-machine --test differential --test x86_differential --test x87 --test riscv -- --nocapture

# The machine's property tests from a new seed each time. PROPTEST_CASES is how many cases each draws.
soak-cases: kernel user programs $(STAMPS)/bootstrap-test
	$(call heading,Property tests of the machine from seed $(PAGEWALK_SEED))
	PROPTEST_RNG_SEED=$(PAGEWALK_SEED) PAGEWALK_ALL_MACHINES=1 cargo test --release -p pagewalk-machine

# Files that a person writes, with so many random mistakes of each from a new seed.
PAGEWALK_MUTATIONS ?= 1000
soak-files: ready x86 $(STAMPS)/bootstrap-test
	$(call heading,Files with mistakes from seed $(PAGEWALK_SEED))
	cd lab && PAGEWALK_SEED=$(PAGEWALK_SEED) PAGEWALK_MUTATIONS=$(PAGEWALK_MUTATIONS) \
		../.venv/bin/python -m pytest --timeout 0 tests/test_mutated_files.py tests/test_damaged_results.py

# The fuzzer runs without the fetch sanitizer: where a random signal handler lies, its process has just written. Large
# caches are simulated faster. "make soak-fuzz" is this part alone.
soak: soak-instructions soak-cases soak-miri soak-files $(STAMPS)/machine ready programs
	$(call heading,Programs on every kind of processor$(comma) invariants checked)
	cd tests && PYTHONPATH=. ../.venv/bin/python -m suite --options check=on --sanitize all \
		--machine ppc603-133 --machine ppc604-133 --machine ppc750-400 --qemu 603e --qemu 604 --qemu 750
	cd tests && PYTHONPATH=. ../.venv/bin/python -m suite --options check=on --sanitize all \
		--machine ppc405-200 --machine ppc970-1600 \
		--group user --group waits --group hostile --group fuzz
	cd tests && PYTHONPATH=. ../.venv/bin/python -m suite --options "check=on entry=lean ipc.switch=direct ipc.path=fast" \
		--sanitize translation --machine ppc603-133 --machine ppc604-133 --machine ppc750-400 \
		--group user --group fuzz --group hostile --case ipc --case ipc_memory --case trace --case seed-1 --case message_state
	$(call heading,The kernel under every policy$(comma) pairs of policies$(comma) and without memory)
	cd tests && PYTHONPATH=. ../.venv/bin/python -m kernel --whole
	$(MAKE) test-linux soak-calls soak-fuzz

# Five hundred cases of each group of calls (tests/calltable) on Linux and on our kernel, for both architectures.
soak-calls: ready x86
	$(call heading,Thousands of generated calls on Linux and on our kernel)
	cd tests && PYTHONPATH=. ../.venv/bin/python -m linux --calls 500
	cd tests && PYTHONPATH=. PAGEWALK_ARCH=x86 ../.venv/bin/python -m linux --calls 500

# GNU Mach, built before from Debian's source package or from a folder (docs/beside.md).
soak-mach: $(STAMPS)/machine ready x86
	$(call heading,Programs on GNU Mach)
	cd lab && ../.venv/bin/python -m pytest -m foreign tests/test_mach.py

# Under Miri, which reports undefined behaviour: the unit tests of the engine that all share and of PowerPC's (decoded
# lines, shortcuts of pages, tags of caches) and those of the memory that engines point to (memory/fixed.rs, line
# shortcuts). They use pointers and references in turn, as an engine does, but run no guest.
soak-miri:
	$(call heading,The engine under Miri)
	cargo +nightly miri --version >/dev/null 2>&1 || rustup toolchain install nightly --profile minimal --component miri,rust-src
	MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p pagewalk-machine --lib -- \
		engine:: memory::fixed memory::line_shortcuts

# A whole machine under Miri takes longer than 12 minutes.
soak-miri-machine:
	$(call heading,A whole machine under Miri)
	MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p pagewalk-machine --lib -- \
		--ignored powerpc::processor::tests

soak-fuzz: $(STAMPS)/machine ready
	$(call heading,Ten million random system calls and attacks)
	cd tests && PYTHONPATH=. ../.venv/bin/python -m suite --group fuzz-soak --options check=on --sanitize translation \
		--set cache.instruction.size=0x40000 --set cache.data.size=0x40000 \
		--machine ppc603-133 --machine ppc604-133 --machine ppc750-400
	cd tests && PYTHONPATH=. ../.venv/bin/python -m suite --group fuzz-soak --options check=on --sanitize translation \
		--machine ppc405-200 --machine ppc970-1600

# Our own tests, attacks and the fuzzer by each form of shootdown, with kernel.lock=fine, where most runs at the same time,
# and stress-ng, if it is built (tests/programs/stress-ng.sh); then policies in pairs on each machine. Not part of
# "make soak".
SEVERAL := --machine ppc604-185x2 --machine ppc604-200x4
SUITE_BY_FORM = PYTHONPATH=. ../.venv/bin/python -m suite --group user --group hostile --group waits --group fuzz \
	$(if $(wildcard build/programs/stress-ng.stamp),--group stress-ng-several)
soak-shootdown: $(STAMPS)/machine ready programs
	$(call heading,Every form of shootdown on two and four processors$(comma) invariants checked)
	cd tests && for form in queue short lazy generation; do \
		$(SUITE_BY_FORM) --options "check=on kernel.lock=fine shootdown=$$form" $(SEVERAL) --machine ppc750-400x2; done
	cd tests && $(SUITE_BY_FORM) --options "check=on kernel.lock=fine shootdown=broadcast" $(SEVERAL)
	cd tests && for machine in ppc604-185x2 ppc750-400x2 ppc604-200x4; do \
		PYTHONPATH=. ../.venv/bin/python -m kernel policies --machine $$machine; done

# Attacks, races and tests under random combinations of policies with the invariant checker, from a new seed each time;
# `make soak-policies PAGEWALK_SEED=<seed>` makes them again. Not part of "make soak".
PAGEWALK_COMBINATIONS ?= 90
soak-policies: $(STAMPS)/machine ready
	$(call heading,Random combinations of policies from seed $(PAGEWALK_SEED))
	cd tests && PYTHONPATH=. ../.venv/bin/python -m kernel combinations --seed $(PAGEWALK_SEED) --count $(PAGEWALK_COMBINATIONS)

# The kernels of tests/linux/planted.toml.
CHECKED := $(addprefix $(LINUX)-,i486 i686-smp small bare-mpc8xx bare-ppc405gp bare-mpc86xx-smp riscv)

# Errors put into the flushes of our kernel and of Linux, one at a time: the translation sanitizer must find each. Not part
# of "make soak": it builds a kernel for each, and needs the kernels of tests/linux/planted.toml.
soak-planted: ready x86 riscv $(STAMPS)/bootstrap-test
	$(call heading,Errors put into flushes)
	$(PAGEWALK) subjects build $(CHECKED)
	cd tests && PYTHONPATH=. ../.venv/bin/python -m kernel planted
	cd tests && PYTHONPATH=. ../.venv/bin/python -m linux.planted

# Good kernels under stress are silent, with an error put into each to show that it would be found. Not part of "make soak".
soak-silent: ready x86 riscv $(STAMPS)/bootstrap-test
	$(call heading,Good kernels under the translation sanitizer)
	$(PAGEWALK) subjects build $(CHECKED)
	cd tests && PYTHONPATH=. ../.venv/bin/python -m linux.silent

# Programs of other people on Linux for RISC-V, as under qemu-riscv64, and the stressors of memory and processes, if
# stress-ng is built (PROGRAMS_ARCH=riscv tests/programs/stress-ng.sh); then which Linux boots where. Not part of "make soak".
STRESSORS := vm vm-rw fork vfork mmap mmapmany munmap mprotect mremap madvise fault tlb-shootdown
SUITE_ON_RISCV = cd tests && PYTHONPATH=. PAGEWALK_ARCH=riscv ../.venv/bin/python -m suite --kernel linux-6.12-riscv
soak-riscv: $(STAMPS)/machine ready riscv
	$(call heading,Programs of other people on Linux for RISC-V)
	PROGRAMS_ARCH=riscv tests/programs/build.sh qemu busybox sqlite redis
	$(PAGEWALK) subjects build linux-6.1-riscv $(addprefix linux-6.1-riscv-,bare default) linux-6.12-riscv $(addprefix linux-6.12-riscv-,bare default)
	$(SUITE_ON_RISCV) --machine u74-1500 --group busybox-glibc --group sqlite-glibc
	$(SUITE_ON_RISCV) --machine u74-1500 --group redis --case unix
	$(if $(wildcard build/programs-riscv/stress-ng.stamp),$(SUITE_ON_RISCV) --machine u74-1500 --machine u74-1500x4 --group stress-ng \
		$(addprefix --case ,$(STRESSORS)))
	$(call heading,Each Linux on each RISC-V machine$(comma) with the shortcuts and without)
	cd tests && PYTHONPATH=. ../.venv/bin/python -m linux.boots

clean:
	rm -rf build target site

comma := ,
