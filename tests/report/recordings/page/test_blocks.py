"""Parts of the page that need no script."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from mlperf.planning.advice.advise import COLUMNS, Advice
from mlperf.planning.advice.findings import Finding
from mlperf.report.recordings.page.blocks import MOST_PLACES, MOST_ROWS, bar_block, hint_block, matrix_block, table_block, text
from mlperf.report.recordings.page.tables import PageTable

EVIL = "<script>x</script>\x07"


def pairs(n_places: int) -> pd.DataFrame:
    """Everybody sends to the next, the first ones most."""
    place = np.arange(n_places)
    size = 1000.0 * (n_places - place)
    return pd.DataFrame(
        {
            "sender": [f"rank {each}" for each in place],
            "receiver": [f"rank {each}" for each in (place + 1) % n_places],
            "size_bytes": size,
            "time_s": np.full(n_places, 0.5),
            "messages": 1,
            "bytes_per_s": size / 0.5,
        }
    )


def test_text_is_escaped_and_seen() -> None:
    assert text(EVIL) == "&lt;script&gt;x&lt;/script&gt;\\x07"


def test_tables_escape_and_cut_with_a_sentence() -> None:
    found = table_block(PageTable("a", EVIL, pd.DataFrame({"name": [EVIL] * (MOST_ROWS + 3), "time_s": 1.0}), EVIL, is_long=True))
    assert "<script" not in found
    assert found.count("<tr>") == MOST_ROWS + 1
    assert "3 more rows" in found
    assert found.startswith("<details>")


def test_bars_are_as_wide_as_their_shares() -> None:
    found = bar_block("whole", [("a", 1.0, "1 s"), ("b", 3.0, "3 s"), ("none", 0.0, "0 s")], 4.0)
    assert [float(each) for each in re.findall(r"width:([\d.]+)%", found)] == [25.0, 75.0]
    assert "none" not in found
    assert bar_block("nothing", [], 0.0) == ""


def test_the_matrix_has_a_row_a_sender_and_names_the_rest() -> None:
    small = matrix_block(pairs(4))
    assert small.count("<table") == 3
    assert small.count("<th scope=row>") == 12
    assert "1.95 KiB" in small
    large = matrix_block(pairs(60))
    assert large.count("<th scope=row>") == 3 * MOST_PLACES
    assert "all others" in large
    assert "the stronger the colour, the more" in large


def test_depth_of_a_cell_grows_with_its_value() -> None:
    first = matrix_block(pairs(4)).partition("</table>")[0]
    depth = [float(each) for each in re.findall(r"--d:([\d.]+)", first)]
    assert depth == sorted(depth, reverse=True)
    assert (depth[0], depth[-1]) == (1.0, 0.15)


def test_hints_tell_gain_interval_evidence_and_doubt() -> None:
    rows = [
        ("input", "named", EVIL, 0.02, 0.01, 0.03, 0.2, 0.05, "a step waits", "more workers", "", ""),
        ("pause", "inconclusive", "gc", np.nan, np.nan, np.nan, np.nan, np.nan, "pauses", "", "", "too few steps"),
    ]
    hints = pd.DataFrame(rows, columns=list(COLUMNS))
    findings = (
        Finding("input", "named", EVIL, None, {"waited_s": 0.25, "where": EVIL}),
        Finding("pause", "inconclusive", "gc", None),
    )
    found = hint_block(Advice("made", 0.1, 10, hints, findings, pd.DataFrame()))
    assert "<script" not in found
    assert "95 %: 10.0 to 30.0" in found
    assert "its share of the time alone is 50" in found
    assert "class=unsure" in found
    assert found.count("<summary>Evidence</summary>") == 1
    assert "waited (ms)" in found
    assert ">250.0<" in found
    assert "Inconclusive: too few steps." in found
    assert "Nothing was found" in hint_block(Advice("made", 0.1, 10, hints.iloc[:0], (), pd.DataFrame()))
