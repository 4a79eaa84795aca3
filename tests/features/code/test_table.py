"""The table of SWC-O: names, order, units, keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.features.code import CLASSES, swc_o
from mlperf.features.network.base import write_features

FOLDER = Path(__file__).parents[2] / "reference" / "assembly"
MISC = FOLDER / "gcc12_O2" / "misc_a.s"


def test_a_row_a_function_and_a_number_in_every_cell() -> None:
    table = swc_o([MISC])
    frame = table.frame.set_index("kernel")
    assert len(frame) == 11
    assert list(frame.columns) == [column.name for column in table.columns]
    assert not frame.isna().any().any()
    assert frame.loc["stencil5", ["n_insn", "n_loops", "n_innermost", "max_depth", "n_inner"]].tolist() == [54, 3, 2, 2, 12]
    assert (frame.filter(regex="^cnt_").sum(axis=1) == frame.n_insn).all()
    assert (frame.filter(regex="^in_").sum(axis=1) == frame.n_inner).all()
    assert (frame[[f"all_{kind}" for kind in CLASSES]].sum(axis=1) == frame.n_insn).all()
    assert (frame[[f"inner_{kind}" for kind in CLASSES]].sum(axis=1) == frame.n_inner).all()


def test_every_column_has_unit_source_and_meaning() -> None:
    dictionary = swc_o([MISC]).dictionary()
    assert (dictionary != "").all().all()
    assert set(dictionary.source) == {"x86-64 instructions"}


def test_names_of_columns_are_names() -> None:
    arm = swc_o([FOLDER / "aarch64_gcc12_O3" / "misc_a.s"])
    assert all(name.isidentifier() for name in arm.frame.columns)
    assert "cnt_b_ne" in arm.frame.columns


def test_a_kernel_twice_is_refused_unless_the_file_is_in_its_name() -> None:
    other = FOLDER / "clang14_O2_sse3_fast_N50" / "k_li_kji_lkj.o"
    with pytest.raises(DataError, match="'scale_int' a second time"):
        swc_o([MISC, MISC.with_suffix(".o")])
    assert swc_o([MISC, other], key="file:function").frame.kernel.iloc[-1] == "k_li_kji_lkj:k_li_kji_lkj"
    assert swc_o([other], key="file").frame.kernel.tolist() == ["k_li_kji_lkj"]
    with pytest.raises(UsageError, match="got key 'name'"):
        swc_o([other], key="name")


def test_a_function_that_no_file_has_is_told_beside_one_that_is_there() -> None:
    with pytest.raises(DataError, match="got no function typo, expected it here"):
        swc_o([MISC], functions=["matvec", "typo"])


def test_local_functions_of_one_name_in_a_file_are_numbered(tmp_path: Path) -> None:
    one = "0000000000001000 <f>:\n 1000:\tc3\tret\n\n"
    two = "0000000000002000 <f>:\n 2000:\t90\tnop\n 2001:\t48 01 d8\tadd    %rbx,%rax\n 2004:\tc3\tret\n\n"
    listing = tmp_path / "k.txt"
    listing.write_text(f"k.so:     file format elf64-x86-64\n\nDisassembly of section .text:\n\n{one}{two}")
    found = swc_o([listing], loops=False).frame
    assert found[["kernel", "n_insn"]].to_numpy().tolist() == [["f", 1], ["f#2", 2]]
    assert swc_o([listing], key="file:function").frame.kernel.tolist() == ["k:f", "k:f#2"]


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """What stands after the first dot, then folders, come into the key where it would otherwise be another file's."""
    both = swc_o([MISC, MISC.with_suffix(".o")], key="file:function", functions=["matvec"])
    assert both.frame.kernel.tolist() == ["misc_a.s:matvec", "misc_a.o:matvec"]
    paths = [tmp_path / folder / "k.s" for folder in ("a", "b")]
    for path in paths:
        path.parent.mkdir()
        path.write_text(MISC.read_text())
    apart = swc_o(paths, key="file:function", functions=["matvec"]).frame.kernel.tolist()
    assert apart == ["a/k.s:matvec", "b/k.s:matvec"]
    assert swc_o(paths, key="file", functions=["matvec"]).frame.kernel.tolist() == ["a/k.s", "b/k.s"]
    with pytest.raises(DataError, match="a second time"):
        swc_o([paths[0], paths[0]], key="file:function")
    with pytest.raises(DataError, match="a second time"):
        swc_o([MISC], key="file")


def test_the_file_and_its_dictionary_are_written(tmp_path: Path) -> None:
    table = swc_o([MISC], functions=["matvec"], loops=False)
    path, beside = write_features(table, tmp_path / "t.csv")
    assert path.read_text().splitlines()[0].startswith("kernel,n_insn,")
    assert beside.name == "t.columns.csv"
    assert beside.read_text().splitlines()[0] == "column,unit,source,meaning"
    assert "n_inner" not in table.frame
    assert set(table.inputs) == {str(MISC)}
