"""Levels: rare ones pooled, unseen ones flagged, nothing ever stops."""

from __future__ import annotations

import pandas as pd

from mlperf.training.table.levels import OTHER, Levels, as_known


def frame(texts: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"gpu": texts, "size": range(len(texts))})


def test_rare_levels_are_pooled_and_named() -> None:
    rows = frame(["A"] * 30 + ["B"] * 20 + ["C", "D", "E", "E"])
    levels = Levels.fit(rows)
    assert list(levels.apply(rows)["gpu"].unique()) == ["A", "B", OTHER]
    assert "3 rare levels" in levels.notes()[0]
    assert levels.guessed(rows).tolist() == [False] * 50 + [True] * 4
    assert levels.columns["gpu"].counts == {"C": 1, "D": 1, "E": 2}
    assert levels.columns["gpu"].known == ("A", "B")


def test_one_rare_level_counts_as_the_most_frequent() -> None:
    rows = frame(["A"] * 20 + ["B"] * 30 + ["C"])
    levels = Levels.fit(rows)
    assert levels.apply(rows)["gpu"].iloc[-1] == "B"
    assert levels.guessed(rows).tolist() == [False] * 50 + [True]
    assert "'C'" in levels.notes()[0]


def test_a_level_never_seen_is_flagged_and_predicted_as_the_most_frequent() -> None:
    levels = Levels.fit(frame(["A"] * 20 + ["B"] * 30))
    asked = frame(["A", "Z"])
    assert list(levels.guessed(asked)) == [False, True]
    assert list(levels.apply(asked)["gpu"]) == ["A", "B"]


def test_small_tables_keep_what_occurs_twice() -> None:
    rows = frame(["A", "A", "B", "B", "C"])
    assert list(Levels.fit(rows).apply(rows)["gpu"]) == ["A", "A", "B", "B", "A"]
    each_once = frame(["A", "B", "C"])
    assert list(Levels.fit(each_once).apply(each_once)["gpu"]) == ["A", "B", "C"]


def test_levels_are_read_back_as_they_were_written() -> None:
    levels = Levels.fit(frame(["A"] * 30 + ["B", "C"]))
    assert Levels.from_dict(levels.to_dict(), "$") == levels


def test_levels_of_an_earlier_release_do_not_tell_the_rows_of_rare_ones() -> None:
    levels = Levels.fit(frame(["A"] * 30 + ["B"]))
    written = {name: {key: each[key] for key in ("kept", "pooled", "substitute")} for name, each in levels.to_dict().items()}
    again = Levels.from_dict(written, "$")
    assert again.columns["gpu"].counts == {}
    assert again.guessed(frame(["A", "B", "C"])).tolist() == [False, True, True]


def test_whole_numbers_that_became_fractions_are_the_labels_that_they_were() -> None:
    """Pandas writes a column of whole numbers with a missing cell as 1.0, 2.0."""
    known = {"1", "2", "v1.0", "3.0", "01"}
    asked = pd.Series([1.0, 2.0, None, 3.0, 4.0])
    assert as_known(asked, known).tolist()[:2] == ["1", "2"]
    assert as_known(asked, known).tolist()[3:] == ["3.0", "4.0"]
    assert as_known(pd.Series(["1.00", "v1", "3", "01", "1.5"]), known).tolist() == ["1", "v1", "3.0", "01", "1.5"]
    assert as_known(pd.Series(["1.0"]), {"1.0", "1"}).tolist() == ["1.0"]


def test_truths_are_known_as_a_spreadsheet_writes_them() -> None:
    asked = pd.Series(["TRUE", "false", "True", "yes", "1"])
    assert as_known(asked, {"True", "False"}).tolist() == ["True", "False", "True", "yes", "1"]
    assert as_known(asked, {"TRUE", "FALSE", "maybe"}).tolist() == ["TRUE", "FALSE", "TRUE", "yes", "1"]
    assert as_known(asked, {"true", "True"}).tolist() == ["TRUE", "false", "True", "yes", "1"]
