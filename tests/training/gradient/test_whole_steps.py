"""Every kernel row taken out of a campaign is named by network, layer, kernel and sub-batch before anything is fitted."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.specs import CnnSpec, kernel_calls, library_calls
from mlperf.training.gradient.whole_steps import check_whole_steps, missing_calls

CNNS = {name: CnnSpec.from_sprint(name, size, [3, 4, 5, 6], pools_after=[1], n_conv=2) for name, size in (("one", 12), ("two", 16))}
KEYS = ["cnn", "subbatch_size", "kernel", "layer"]


def rows_of(calls: object = kernel_calls) -> pd.DataFrame:
    found = [(name, size, call.kernel, call.layer) for name, cnn in CNNS.items() for size in (1, 4) for call in calls(cnn, size)]
    return pd.DataFrame(found, columns=KEYS)


@pytest.mark.parametrize("calls", [kernel_calls, library_calls])
def test_all_rows_are_enough_and_repeats_change_nothing(calls: object) -> None:
    rows = rows_of(calls)
    check_whole_steps(pd.concat([rows, rows]), CNNS, Path("mine"), "numpy")
    assert missing_calls(rows, CNNS).empty


@pytest.mark.parametrize("calls", [kernel_calls, library_calls])
def test_each_single_row_is_missed(calls: object) -> None:
    rows = rows_of(calls)
    for at in range(len(rows)):
        lost = missing_calls(rows.drop(index=at), CNNS)
        assert lost.to_numpy().tolist() == [rows.loc[at].tolist()]


def test_the_missing_rows_are_named_with_the_commands_that_help() -> None:
    rows = rows_of()
    without = rows[~((rows["kernel"] == "col2im") & (rows["cnn"] == "two"))]
    with pytest.raises(DataError) as caught:
        check_whole_steps(without, CNNS, Path("mine"), "numpy")
    assert caught.value.place == "mine/kernels.csv, backend numpy"
    assert caught.value.message == "2 rows are missing: cnn two, layer conv2, kernel col2im, sub-batch 1, 4"
    assert "mlperf data template kernels" in str(caught.value.hint)
    assert "--leave-out" in str(caught.value.hint)


def test_a_long_list_is_cut_and_counted() -> None:
    rows = rows_of()
    with pytest.raises(DataError, match="sub-batch 1, 4; and 32 more kernels\n") as caught:
        check_whole_steps(rows[rows["kernel"] == "im2col"], CNNS, Path("mine"), "numpy")
    assert caught.value.message.count("kernel ") == 8


def test_a_sub_batch_that_nobody_measured_is_not_asked_for() -> None:
    rows = rows_of()
    check_whole_steps(rows[rows["subbatch_size"] == 1], CNNS, Path("mine"), "numpy")


def test_the_last_bias_may_be_in_softmax() -> None:
    """Where no network's last layer has an activation of its own, its softmax adds the bias; one network alone lacks a row."""
    rows = rows_of()
    last = (rows["kernel"] == "activation") & (rows["layer"] == CNNS["one"].layers[-1].name)
    assert last.sum() == 4
    check_whole_steps(rows[~last], CNNS, Path("mine"), "cuda-explicit")
    assert len(missing_calls(rows[~(last & (rows["cnn"] == "one"))], CNNS)) == 2
    assert len(missing_calls(rows[~last & (rows["kernel"] != "softmax")], CNNS)) == 8
