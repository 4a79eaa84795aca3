"""A label that was left out tells how far one errs that nobody measured."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlperf.core.json_fields import Fields
from mlperf.training.table.label_errors import label_errors_from, label_errors_to_dict, left_out_labels
from mlperf.training.table.table_regressor import TableRegressor

FACTOR = {"A": 1.0, "B": 2.0, "C": 4.0, "D": 8.0}
TERMS = ("size", "gpu", "size:gpu")


def table(labels: str, n_rows: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    found = pd.DataFrame({"size": rng.uniform(1.0, 9.0, n_rows), "gpu": [labels[at % len(labels)] for at in range(n_rows)]})
    return found.assign(time_s=(1.0 + found["size"]) * found["gpu"].map(FACTOR))


def left_out(rows: pd.DataFrame) -> dict[str, float]:
    found = left_out_labels(lambda: TableRegressor("ols", TERMS), rows[["size", "gpu"]], rows["time_s"].to_numpy())
    return {name: float(np.ptp(each.bounds(0.95))) for name, each in found.items()}


def test_errors_of_left_out_labels_are_as_large_as_the_labels_differ() -> None:
    """By hand: labels are 1, 2, 4, 8 times the first, which stands in for the others and the second for it."""
    found = left_out_labels(
        lambda: TableRegressor("ols", TERMS), table("ABCD")[["size", "gpu"]], table("ABCD")["time_s"].to_numpy()
    )
    logs = np.log([0.5, 2.0, 4.0, 8.0])
    half = 3.182446 * np.sqrt(np.mean(logs**2))
    np.testing.assert_allclose(found["gpu"].bounds(0.95), (-half, half), rtol=1e-3)


def test_one_more_label_is_held_as_often_as_the_interval_says() -> None:
    """Ranks of the rows of four labels held two new labels of three."""
    rng = np.random.default_rng(3)
    held = []
    for _ in range(60):
        speed = dict(zip("ABCDE", np.exp(0.7 * rng.standard_normal(5)), strict=True))
        rows = pd.DataFrame({"size": rng.uniform(1.0, 9.0, 40), "gpu": list("ABCD") * 10})
        times = (1.0 + rows["size"]) * rows["gpu"].map(speed)
        found = left_out_labels(lambda: TableRegressor("ols", ("size:gpu", "gpu")), rows, times.to_numpy())
        lower, upper = found["gpu"].bounds(0.95)
        # The first label is the most frequent one, and stands in for a new one.
        held.append(lower <= np.log(speed["E"] / speed["A"]) <= upper)
    assert np.mean(held) >= 0.9


def test_fewer_than_three_labels_tell_nothing_of_another() -> None:
    assert left_out(table("AB")) == {}
    rows = table("AB")
    rows.loc[:3, "gpu"] = "C"
    assert left_out(rows) == {}


def test_many_rows_are_not_all_looked_at() -> None:
    assert set(left_out(table("ABCD", 3000))) == {"gpu"}


def test_errors_are_read_back_and_files_of_earlier_releases_have_none() -> None:
    rows = table("ABCD")
    found = left_out_labels(lambda: TableRegressor("ols", TERMS), rows[["size", "gpu"]], rows["time_s"].to_numpy())
    again = label_errors_from(Fields({"label_errors": label_errors_to_dict(found)}, "$"), "label_errors")
    assert again["gpu"].bounds(0.9) == found["gpu"].bounds(0.9)
    assert label_errors_from(Fields({}, "$"), "label_errors") == {}
