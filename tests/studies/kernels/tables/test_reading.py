"""Tables of kernels in any of their forms become one form; what is wrong is named with its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.studies.kernels import (
    KernelTimes,
    asked_kernels,
    choose_setting,
    kernel_features,
    read_all_kernels,
    read_kernel_times,
)

pytestmark = pytest.mark.slow

ASSEMBLY = """\
k_{name}:
.L2:
        movups  (%rsi,%rax), %xmm0
        mulps   (%rdx,%rax), %xmm0
        addps   %xmm0, %xmm1
        addq    $16, %rax
        cmpq    $400, %rax
        jne     .L2
        ret
"""


def test_every_form_of_a_table_gives_the_same_rows(made_folder: Path, tmp_path: Path) -> None:
    whole = read_kernel_times(made_folder)
    file = read_kernel_times(made_folder / "times.csv")
    zipped = tmp_path / "times.csv.gz"
    pd.read_csv(made_folder / "times.csv").to_csv(zipped, index=False)
    for other in (file, read_kernel_times(zipped)):
        pd.testing.assert_frame_equal(whole.frame, other.frame)
        assert set(other.data_sha256.values())


def test_the_smallest_table_is_pattern_size_time(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("pattern,N,time_s\nij-jlk-kil,10,0.001\nij-kil-jlk,10,0.0011\n", encoding="utf-8")
    times = read_kernel_times(path)
    assert times.frame["iterations"].tolist() == [1e4, 1e4]
    assert times.frame["swap_group"].nunique() == 1
    assert any("repeats" in note for note in times.notes)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("pattern,N\nij-jlk-kil,10\n", "line 1", "time_mean_s"),
        ("pattern,N,time_s\nij-jlk-kil,10,-1\n", "line 2, column time_s", "seconds > 0"),
        ("pattern,N,time_s\nij-jlk-kil,10,1\nij,10,1\n", "line 3, column pattern", "joined by '-'"),
        ("pattern,N,time_s\nij-jlk-kil,1.5,1\n", "line 2, column N", "whole number"),
    ],
)
def test_wrong_cells_are_named(tmp_path: Path, text: str, place: str, message: str) -> None:
    path = tmp_path / "wrong.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_kernel_times(path)
    assert place in str(caught.value.place)
    assert message in caught.value.message


def test_a_source_that_is_nowhere(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder"):
        read_kernel_times("no_such_table")
    with pytest.raises(DataError, match=r"no times\.csv"):
        read_kernel_times(tmp_path)


def test_code_beside_the_table_is_counted(tmp_path: Path) -> None:
    """A campaign folder holds N<size>/<build>/<kernel>.s: counts come from there."""
    patterns = ("ij-jlk-kil", "ij-ikl-jkl")
    rows = [f"ij,gcc,10,k_{one.replace('-', '_')},{one},0.001" for one in patterns]
    (tmp_path / "times.csv").write_text("\n".join(["pattern_set,build,N,kernel,pattern,time_mean_s", *rows]), encoding="utf-8")
    place = tmp_path / "N10" / "gcc"
    place.mkdir(parents=True)
    for one in patterns:
        name = one.replace("-", "_")
        (place / f"k_{name}.s").write_text(ASSEMBLY.format(name=name), encoding="utf-8")
    times = read_kernel_times(tmp_path)
    assert times.frame["cnt_mulps"].tolist() == [1, 1]
    assert times.frame["in_addps"].tolist() == [1, 1]
    assert times.frame["lanes_inner"].tolist() == [4, 4]


def test_caches_and_clock_come_from_the_host_file(tmp_path: Path, table_maker: Callable[..., pd.DataFrame]) -> None:
    table_maker(50, "gcc", 1.0, machine="mine").to_csv(tmp_path / "times.csv", index=False)
    caches = {"l1d": {"size_bytes": 49152, "ways": 12, "line_bytes": 64}, "l2": {"size_bytes": 2**20, "ways": 16, "line_bytes": 64}}
    host = {"caches": caches, "clock": {"frequency_hz": 3e9, "source": "a timed chain"}}
    (tmp_path / "host.json").write_text(json.dumps(host), encoding="utf-8")
    facts = read_kernel_times(tmp_path).machine()
    assert [cache.size_bytes for cache in facts.caches[:2]] == [49152, 2**20]
    assert facts.clock_hz == 3e9
    assert facts.clock_source == "a timed chain"


def test_two_tables_become_one(made_folder: Path, tmp_path: Path, table_maker: Callable[..., pd.DataFrame]) -> None:
    other = tmp_path / "other"
    other.mkdir()
    table_maker(50, "gcc_O2_sse3_fast", 2.0, machine="second").to_csv(other / "times.csv", index=False)
    both = read_all_kernels([made_folder, other])
    assert both.frame["machine"].nunique() == 2
    with pytest.raises(DataError, match="twice"):
        read_all_kernels([made_folder, made_folder])


def test_choosing_a_sweep(made: KernelTimes) -> None:
    assert choose_setting(made).build == "gcc_O2_sse3_fast"
    assert choose_setting(made).N == 100
    assert choose_setting(made, build="gcc_O1_scalar", N=50).N == 50
    with pytest.raises(UsageError, match="gcc_O3"):
        choose_setting(made, build="gcc_O3")


def test_asking_for_kernels_by_pattern() -> None:
    asked = asked_kernels(["ij-jlk-kil"], 100)
    assert np.isnan(asked.time_s).all()
    with pytest.raises(UsageError, match="2 patterns"):
        asked_kernels(["ij-jlk-kil", "ij-ikl-jkl"], 100, ["one.s"])


def test_the_bundled_campaign_and_the_open_sweep_count_the_same_code(open_sweep: KernelTimes) -> None:
    """Two machines, two tables, one compiler: instructions of the innermost loops agree kernel by kernel."""
    own = read_kernel_times("contraction-epyc")
    assert np.isfinite(own.frame["cycles"]).all()
    both = read_all_kernels(["contraction-epyc"])
    parts = []
    for times, family in ((both, "twice"), (open_sweep, "contraction864")):
        rows = times.sweep(choose_setting(times, pattern_set=family, build="gcc_O2_sse3_fast", N=100))
        mix = kernel_features(rows, "swc-o inner").assign(pattern=rows.frame["pattern"].to_numpy()).set_index("pattern")
        parts.append(mix[["mix_scalar_move", "mix_shuffle", "mix_all", "mix_memory"]].sort_index())
    common = parts[0].index.intersection(parts[1].index)
    assert len(common) == 648
    pd.testing.assert_frame_equal(parts[0].loc[common], parts[1].loc[common], check_dtype=False)


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ({"clock": {"frequency_hz": "fast"}}, "frequency_hz: got 'fast', expected a finite number"),
        ({"clock": {"frequency_hz": -1.0}}, "frequency_hz: got -1.0, expected a finite number"),
        ({"caches": {"l1d": {"size_bytes": "\x00"}}}, "size_bytes: got '\\x00', expected a finite number"),
        ({"caches": {"l2": {"size_bytes": 1024, "ways": []}}}, "ways: got [], expected a finite number"),
        ({"caches": {"l3": {"size_bytes": {}}}}, "size_bytes: got {}, expected a finite number"),
    ],
)
def test_a_host_that_tells_no_numbers_is_refused(made_folder: Path, host: dict[str, object], words: str, tmp_path: Path) -> None:
    (tmp_path / "times.csv").write_bytes((made_folder / "times.csv").read_bytes())
    (tmp_path / "host.json").write_text(json.dumps(host), encoding="utf-8")
    with pytest.raises(DataError, match=r"host\.json") as caught:
        read_kernel_times(tmp_path)
    assert words in str(caught.value)


def test_static_counts_that_stand_twice_are_refused(tmp_path: Path) -> None:
    rows = "pattern,N,build,time_s\nij-jlk-kil,10,gcc_O2,0.001\n"
    (tmp_path / "times.csv").write_text(rows, encoding="utf-8")
    counts = "kernel,N,build,cnt_add\nk_ij_jlk_kil,10,gcc_O2,5\n"
    (tmp_path / "swc-o.csv").write_text(counts, encoding="utf-8")
    assert len(read_kernel_times(tmp_path).frame) == 1
    (tmp_path / "swc-o.csv").write_text(counts + "k_ij_jlk_kil,10,gcc_O2,6\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"got static counts of k_ij_jlk_kil \(gcc_O2, N = 10\) twice"):
        read_kernel_times(tmp_path)
