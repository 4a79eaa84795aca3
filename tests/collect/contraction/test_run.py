"""A campaign of contractions: what it writes, that it checks every kernel, that it goes on where it stopped."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from mlperf.collect.contraction import Build, ContractionRequest, collect_contractions, parse_build
from mlperf.collect.contraction.program import Program, Timing
from mlperf.core.errors import DataError, InterruptedRun, UsageError
from mlperf.datasets import read_contractions
from mlperf.features import count_instructions, swc_s
from mlperf.specs.patterns import PatternRule

pytestmark = pytest.mark.slow


def test_twenty_four_kernels_agree_with_einsum(builds: tuple[Build, ...], sweep: Path) -> None:
    found = read_contractions(sweep)
    assert len(found.times) == 2 * 24
    assert found.times["pattern"].nunique() == 24
    assert found.times["check_error"].max() < 1e-6
    assert (found.times["n_operations"] == 12**4).all()
    assert (found.times["n_rounds"] == 2).all()
    assert found.rounds is not None
    assert len(found.rounds) == 2 * 2 * 24
    assert set(found.host["builds"]) == {build.name for build in builds}
    assert found.host["clock"]["source"]


def test_times_are_means_over_rounds(sweep: Path) -> None:
    found = read_contractions(sweep)
    assert found.rounds is not None
    key = ["build", "N", "offset_bytes", "pattern"]
    by_round = found.rounds.pivot_table(index=key, columns="round", values="cpu_s")
    times = found.times.set_index(key).loc[by_round.index]
    assert np.allclose(times["time_mean_s"], by_round.mean(axis=1), rtol=1e-5)
    assert np.allclose(times["time_odd_s"], by_round[1], rtol=1e-5)
    assert np.allclose(times["time_even_s"], by_round[2], rtol=1e-5)
    assert np.allclose(times["time_min_s"], by_round.min(axis=1), rtol=1e-5)
    assert np.allclose(times["time_sd_s"], by_round.std(axis=1, ddof=1), rtol=1e-4, atol=1e-12)
    known = times[times["cycles_mean"] > 0]
    assert np.allclose(known["operations_per_cycle"], known["n_operations"] / known["cycles_mean"], rtol=1e-5)


def test_order_is_random_and_differs_between_rounds(sweep: Path) -> None:
    rounds = read_contractions(sweep).rounds
    assert rounds is not None
    orders = [part.sort_values("sequence")["pattern"].tolist() for _, part in rounds.groupby("round")]
    assert orders[0] != orders[1]
    assert orders[0] != sorted(orders[0])
    assert rounds["sequence"].is_unique


def test_sources_and_assembly_are_readable_by_the_features(builds: tuple[Build, ...], sweep: Path) -> None:
    pattern = read_contractions(sweep).times["pattern"][0]
    name = f"k_{pattern.replace('-', '_')}"
    nests = swc_s([sweep / "N12" / f"{name}.c"])
    assert nests.frame["kernel"].tolist() == [name]
    assert nests.frame["operations"][0] == 2 * 12**4
    (counted,) = count_instructions(sweep / "N12" / builds[1].name / f"{name}.s")
    assert counted.function == name
    assert not (sweep / "N12" / builds[0].name / "objects").exists()


@pytest.mark.parametrize(
    ("rule", "n"),
    [
        (PatternRule((2, 2, 2), "ijk", times=2), 9),
        (PatternRule((3, 2, 3), "ijkl", distinct=False, all_used=True), 5),
        (PatternRule((1, 2, 1, 2), "xyz", all_used=True), 8),
        (PatternRule((2, 1), "ab"), 7),
    ],
)
def test_other_families(builds: tuple[Build, ...], rule: PatternRule, n: int, tmp_path: Path) -> None:
    request = ContractionRequest(tmp_path, builds[1:], rule, "mine", subset=2, sizes=(n,), rounds=1, least_s=0.0)
    found = collect_contractions(request)
    assert found.units[0].check_error < 1e-5
    assert read_contractions(tmp_path).times["n_operations"].tolist() == [n ** len(rule.indices)] * 2


def test_arrays_start_where_the_offset_says(builds: tuple[Build, ...], one: ContractionRequest, tmp_path: Path) -> None:
    request = replace(one, builds=builds[1:], offsets=(0, 4, 48), keep=True)
    assert {unit.offset_bytes for unit in collect_contractions(request).units} == {0, 4, 48}
    for folder, offset in (("N12", 0), ("N12_offset4", 4), ("N12_offset48", 48)):
        with (tmp_path / folder / builds[1].name / "objects" / "program").open("rb") as stream:
            symbols = ELFFile(stream).get_section_by_name(".symtab")
            for name in "ABC":
                (symbol,) = symbols.get_symbol_by_name(name)
                assert symbol["st_value"] % 64 == offset


def test_more_rounds_and_sizes_are_added(builds: tuple[Build, ...], one: ContractionRequest, tmp_path: Path) -> None:
    first = one
    collect_contractions(first)
    before = read_contractions(tmp_path).rounds
    collect_contractions(replace(first, rounds=2))
    collect_contractions(replace(first, sizes=(5,), builds=builds[1:]))
    found = read_contractions(tmp_path)
    assert before is not None
    assert found.rounds is not None
    assert found.rounds.head(len(before)).equals(before)
    assert found.times.groupby(["build", "N"])["n_rounds"].max().to_dict() == {(builds[0].name, 12): 2, (builds[1].name, 5): 1}
    assert found.host["contractions"]["sizes"] == [5, 12]
    with pytest.raises(UsageError, match="seed"):
        collect_contractions(replace(first, seed=4))
    with pytest.raises(UsageError, match="as in the campaign's first run"):
        collect_contractions(replace(first, builds=(parse_build(f"{builds[0].name}=gcc -O3"),)))


def test_an_interrupt_keeps_what_is_there(one: ContractionRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    time, calls = Program.time, []

    def interrupted(program: Program, pattern: str, least_s: float) -> Timing:
        calls.append(pattern)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return time(program, pattern, least_s)

    request = replace(one, rounds=2)
    monkeypatch.setattr(Program, "time", interrupted)
    with pytest.raises(InterruptedRun, match="every finished measurement"):
        collect_contractions(request)
    assert len(read_contractions(tmp_path).times) == 2
    assert collect_contractions(request).complete
    found = read_contractions(tmp_path)
    assert (found.times["n_rounds"] == 2).all()
    assert len(calls) == 1 + 2 * 3


def test_zero_rounds_only_compile(builds: tuple[Build, ...], one: ContractionRequest, tmp_path: Path) -> None:
    found = collect_contractions(replace(one, rounds=0))
    assert (found.n_compiled, found.units, found.drift) == (3, (), None)
    assert len(list((tmp_path / "N12" / builds[0].name).glob("k_*.s"))) == 3
    assert not (tmp_path / "times.csv").exists()


def test_a_wrong_kernel_is_named(one: ContractionRequest, tmp_path: Path) -> None:
    request = one
    collect_contractions(replace(request, rounds=0))
    path = tmp_path / "N12" / "checksums.json"
    known = json.loads(path.read_text(encoding="utf-8"))
    pattern = sorted(known)[1]
    known[pattern] *= 1 + 1e-4
    path.write_text(json.dumps(known), encoding="utf-8")
    with pytest.raises(DataError, match="got checksum") as caught:
        collect_contractions(request)
    assert f"k_{pattern.replace('-', '_')}" in str(caught.value.place)


def test_a_crash_is_named(one: ContractionRequest, tmp_path: Path) -> None:
    request = one
    collect_contractions(replace(request, rounds=0))
    (program,) = tmp_path.rglob("program")
    program.unlink()
    program.write_text("#!/bin/sh\nread line; echo 1e9; exit 3\n", encoding="ascii")
    program.chmod(0o755)
    with pytest.raises(DataError, match="ended with exit code 3") as caught:
        collect_contractions(request)
    assert "kernel k_" in str(caught.value.place)


def test_wrong_requests(one: ContractionRequest) -> None:
    request = one
    for wrong, message in (
        (replace(request, offsets=(2,)), "offset of 2 bytes"),
        (replace(request, sizes=(100_000,)), "GiB"),
        (replace(request, patterns=("ij-jk-ki",)), "expected arrays of ranks 2,3,3"),
        (replace(request, subset=1000), "1 to 864"),
        (replace(request, builds=(parse_build("gcc -O2 --no-such-option"),)), "no-such-option"),
    ):
        with pytest.raises(UsageError, match=message):
            collect_contractions(wrong)


def test_thousands_of_calls_do_not_add_up_to_another_result(tmp_path: Path) -> None:
    """Single precision drifts by 1e-5 where a short kernel adds the same products five thousand times: one call is compared."""
    fast = parse_build("fast=gcc -O3 -ffast-math")
    rule = PatternRule((2, 2, 2), "ijk", times=2)
    request = ContractionRequest(tmp_path, (fast,), rule, "mine", subset=4, sizes=(6,), rounds=1, least_s=0.02)
    collect_contractions(request)
    found = read_contractions(tmp_path)
    assert found.rounds is not None
    assert found.rounds["n_runs"].min() > 5000
    assert found.times["check_error"].max() < 1e-6
