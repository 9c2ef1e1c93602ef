"""The reasons beside verdicts, generated from counters."""

from collections.abc import Mapping

from pagewalk import experiments, explain, policies
from pagewalk.experiments import Row
from pagewalk.figures import Measured
from pagewalk.verdict import claims_none


def row(experiment: str, name: str, machine: str) -> Row:
    found = experiments.find(experiment)[0].rows
    return next(entry for entry in found if (entry.name, entry.after.machine) == (name, machine))


def measured(counters: Mapping[str, int], iterations: int = 10, clock: int = 133_000_000, size: int = 0) -> Measured:
    return Measured(clock, iterations, size, counters, {})


def test_a_row_without_a_moved_category_says_what_moved_most() -> None:
    pipe = row("osdi99-table2", "pipe latency", "ppc603-133")
    before = measured({"cycles.cause.kernel": 100_000, "cycles.cause.flush": 300, "instructions": 50_000})
    after = measured({"cycles.cause.kernel": 100_000, "cycles.cause.flush": 100, "instructions": 50_000})
    assert explain.reason(pipe, "not reproduced", before, after) == (
        "no cost category changed by 1 % of the row's cycles; the largest change: flush 30 -> 10, 0.20% of them; "
        "instructions, misses and waits for memory changed by less than 1 %; the policy can change flush: 0.3% of the "
        "row's cycles before and 0.1% after"
    )


def test_a_row_that_is_not_reproduced_says_which_counts_changed() -> None:
    pipe = row("osdi99-table2", "pipe latency", "ppc603-133")
    before = {"cycles.cause.kernel": 100_000, "instructions": 50_000, "cache.data.miss": 100, "tlb.data.miss": 20}
    after = before | {"cycles.cause.kernel": 120_000, "instructions": 54_000, "cache.data.miss": 300}
    words = explain.reason(pipe, "not reproduced", measured(before), measured(after))
    assert "; each: instructions 5,000 -> 5,400, D-cache misses 10 -> 30; " in words
    assert "each: instructions" not in explain.reason(pipe, "direction reproduced", measured(before), measured(after))


def test_a_row_without_a_change_names_its_control() -> None:
    """What the guest counted of the policy, else cycles that it acts on, else the counter that changed most."""
    null = row("ols03-pte", "user time of a compile, in batches", "ppc750-400")
    same = {"cycles.cause.kernel": 100_000, "instructions": 50_000}
    shown = "the control, which shows that the policy acts here: "

    def words(before: Mapping[str, int], after: Mapping[str, int], pages: int = 0) -> str:
        flushed = Measured(1, 10, 0, after, {}, values={"pte.update.pages_at_update": pages})
        return explain.reason(null, "no change, as published", measured(before), flushed)

    flushed = {"cycles.cause.flush": 2000, **same}
    assert shown + "pages flushed with their entries 0 -> 30" in words(flushed, {**flushed, "instructions": 1}, 300)
    assert shown + "cycles of flush 0 -> 200" in words(same, flushed)
    assert shown + "instructions 5,000 -> 5,001" in words(same, {**same, "instructions": 50_010})
    assert shown not in words(same, same)
    assert shown not in explain.reason(null, "not reproduced", measured(same), measured(flushed))


def test_every_claim_of_no_change_has_a_policy_that_can_be_seen_to_act() -> None:
    """So each null of all documents has a control: its sides differ by a policy with categories or counts, or a key."""
    for name in experiments.names():
        for entry in (entry for found in experiments.find(name) for entry in found.rows):
            if not entry.published.claims or not claims_none(entry.published) or entry.before is None:
                continue
            about = policies.descriptions()
            seen = [name for name in explain.changed_policies(entry) if about[name].causes or about[name].values]
            elsewhere = entry.before.machine != entry.after.machine or entry.before.setting.image
            assert seen or elsewhere, f"{name}: {entry.name}"


def test_misses_that_a_figure_counts_are_told_by_cause() -> None:
    misses = row("osdi99-bat", "hash-table misses", "ppc604-133")
    before = {"cycles.cause.user": 10_000, "hash.miss.cause.user": 4000, "hash.miss.cause.kernel": 900}
    after = {"cycles.cause.user": 10_000, "hash.miss.cause.user": 3900, "hash.miss.cause.kernel": 10}
    words = explain.reason(misses, "not reproduced", measured(before), measured(after))
    assert "hash.miss by cause: kernel 90 -> 1, user 400 -> 390" in words


def test_who_evicts_tlb_entries_is_told_where_misses_rise() -> None:
    time = row("workloads-compilers", "GCC, time: VSIDs scattered", "ppc603-133")
    before = {"cycles.cause.reload": 1000, "tlb.data.miss": 100, "pollution.tlb.data.kernel.user": 10}
    after = {"cycles.cause.reload": 2000, "tlb.data.miss": 200, "pollution.tlb.data.kernel.user": 100}
    evicted = "TLB misses on entries that others evicted: kernel evicted user 1 -> 10"
    assert evicted in explain.reason(time, "worse", measured(before), measured(after))
    assert evicted not in explain.reason(time, "worse", measured(before), measured(after | {"tlb.data.miss": 105}))
    own = {"pollution.tlb.data.user.user": 50}
    assert "user evicted user" not in explain.reason(time, "worse", measured(before), measured(after | own))


def test_a_row_with_one_side_says_what_the_published_figure_would_be_here() -> None:
    load = row("lmbench96-memory", "load, first-level cache", "ppc604-133")
    words = explain.reason(load, "not reproduced", None, measured({"cycles.cause.user": 25, "instructions": 11}))
    assert words == "cycles each: user 2.5; each: instructions 1.1; published: 0.8 cycles at 133 MHz"
    copy = row("lmbench96-memory", "copy", "ppc604-133")
    counters = {"cycles": 10_000, "cycles.cause.user": 10_000}
    words = explain.reason(copy, "not reproduced", None, measured(counters, iterations=1, size=4000))
    assert words.endswith("cycles for 32 bytes at 133 MHz: 80, published 193"), "a megabyte of LmBench is 2^20 bytes"
