"""The table of SWC-S."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.features.source import CacheLevel, loop_features, parse_cache, pattern_nest, read_nests, swc_s

SOURCES = Path(__file__).parents[2] / "reference" / "assembly" / "sources"


def test_the_quantities_of_one_contraction() -> None:
    row = loop_features([pattern_nest("ij-jlk-kil")], {"N": 100}).frame.iloc[0]
    assert row.kernel == "ij-jlk-kil"
    assert (row.depth, row.trips1, row.trips4, row.iterations, row.operations, row.multiplies) == (
        4,
        100,
        100,
        10**8,
        2 * 10**8,
        10**8,
    )
    assert row.touched_bytes == 4 * 4 * 10**8  # two reads, one read and write
    assert row.footprint_bytes == 4 * (100**2 + 2 * 100**3)
    assert row.intensity == 2 / 16
    assert (row.stride_A_l, row.stride_B_l, row.stride_C_l) == (0, 100, 1)
    assert (row.invariant_A_l, row.row_B_l, row.unit_C_l, row.plane_C_k) == (1, 1, 1, 1)
    assert (row.inner_vectorisable, row.inner_gathers, row.inner_contiguous, row.inner_broadcasts) == (0, 1, 1, 1)
    assert (row.lines1, row.lines4) == (108, 125_625)


def test_every_stride_has_one_kind() -> None:
    frame = loop_features([pattern_nest(pattern) for pattern in ("ij-jlk-kil", "ik-kjl-ijl")], {"N": 30}).frame
    for array in "ABC":
        for loop in "ijkl":
            kinds = [f"{kind}_{array}_{loop}" for kind in ("invariant", "unit", "row", "plane", "other")]
            assert (frame[kinds].sum(axis=1) == 1).all()


def test_every_column_has_unit_source_and_meaning() -> None:
    table = swc_s([SOURCES / "k_ij_jlk_kil.c"])
    dictionary = table.dictionary()
    assert (dictionary != "").all().all()
    assert list(dictionary.column) == list(table.frame.columns[1:])
    assert "reuse model, 32768 bytes, lines of 64, 8 ways" in set(dictionary.source)
    assert set(dictionary.unit) == {"1", "bytes", "elements", "lines", "operations/byte"}


def test_caches_may_be_named() -> None:
    table = loop_features([pattern_nest("ij-ik-kj", "ijk")], {"N": 50}, caches=[CacheLevel("l3", 2**20, 64, 16)])
    assert [name for name in table.frame if name.startswith("misses")] == ["misses_l3", "misses_l3_A", "misses_l3_B", "misses_l3_C"]


def test_two_caches_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="got 2 caches called 'l1', expected each name once"):
        loop_features(
            [pattern_nest("ij-ik-kj", "ijk")], {"N": 50}, caches=[CacheLevel("l1", 2**15, 64), CacheLevel("l1", 2**16, 64)]
        )


def test_a_size_that_nothing_has_open_is_refused() -> None:
    with pytest.raises(UsageError, match=r"got size n, which no loop nest has open\n  hint: Did you mean 'N'\?"):
        swc_s([], {"N": 20, "n": 5}, patterns=["ij-ik-kj"])


def test_columns_per_array_need_equal_names() -> None:
    nests = [pattern_nest("ij-ik-kj", "ijk"), pattern_nest("ij-jlk-kil")]
    table = loop_features(nests, {"N": 20})
    assert not [name for name in table.frame if name.startswith("stride")]
    assert len(table.notes) == 1
    with pytest.raises(DataError, match="2 different sets"):
        loop_features(nests, {"N": 20}, per_array=True)
    assert loop_features(nests[:1], {"N": 20}, per_array=False).notes == ()


def test_kernels_of_one_name_are_refused() -> None:
    with pytest.raises(DataError, match="a second time"):
        loop_features([pattern_nest("ij-ik-kj")] * 2, {"N": 20})


def test_files_are_told_by_their_ending(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected a file ending in \.c, \.h, \.toml"):
        read_nests(tmp_path / "x.f90")
    assert set(swc_s([SOURCES / "k_ij_jlk_kil.c"]).inputs) == {str(SOURCES / "k_ij_jlk_kil.c")}


def test_counts_that_nobody_could_run_are_refused(tmp_path: Path) -> None:
    """10^9 x 10^9 trips need more than 2^53 executions, of which a float forgets single ones."""
    path = tmp_path / "k.c"
    path.write_text("void f(int n, float a[n][n]) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i][j] = 0; }\n")
    assert swc_s([path], {"n": 10**6}).frame["iterations"].tolist() == [10**12]
    for size in (10**9, 10**18, 10**200):
        with pytest.raises(DataError, match=r"got counts beyond 9e\+15") as caught:
            swc_s([path], {"n": size})
        assert str(path) in str(caught.value.place)


def test_a_function_that_no_file_has_is_told_beside_one_that_is_there(tmp_path: Path) -> None:
    """Each of several files needs one of them; a name that none of them has was meant otherwise."""
    paths = [tmp_path / "f.c", tmp_path / "g.c"]
    for path in paths:
        path.write_text(f"void {path.stem}(float *a) {{ for (int i = 0; i < 9; i++) a[i] = 0; }}")
    assert swc_s(paths, functions=["f", "g"]).frame["kernel"].tolist() == ["f", "g"]
    with pytest.raises(DataError, match="got no function typo with a for loop"):
        swc_s(paths, functions=["f", "g", "typo"])


@pytest.mark.parametrize("text", ["l1=" + "9" * 5000 + "/64/8", "l1=32K/" + "9" * 20, "l1=32K/0/8", "l1=32K/64/-1"])
def test_a_cache_that_no_machine_has_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="got cache"):
        parse_cache(text)
