"""How sure a search is, as a page in Markdown: what was told beside what held."""

from __future__ import annotations

import pandas as pd

from mlperf.report.pages.judgement import percent, table
from mlperf.studies.judgement.sureness import NEVER_KNOWS, WIDTHS, Sureness, band_table, brier_score

HEADS = ["steps follow from", "told", "cases", "told, mean", "held"]


def sureness_page(found: Sureness, commit: str) -> str:
    """The whole page, one newline at its end.

    Parameters
    ----------
    found : Sureness
        Of a judgement.
    commit : str
        Which names it.
    """
    widths = " and ".join(percent(width, 0) for width in WIDTHS)
    return f"""# How sure a search is

Each network of [the judgement of {commit[:8]}](judgement.md) was left out on each machine, and its settings were drawn as
`mlperf search` draws them. Made by `python docs/make_sureness.py {commit}`. Nothing was fitted to these runs, but
what is drawn was mended after they had been seen (settings of one step kept their order in every draw): they tell what to
expect, and judge nothing.

*Told* is the share of draws that say what most of them say, *held* how often that was measured: alike where a search knows
how sure it is. Where more held than was told it is less sure than it might be. Brier score: mean square of told less held,
{NEVER_KNOWS} of one who never knows.

## Which of two settings has the shorter epoch

Every pair of settings of a network. Where a setting was run once, the noise of a run is part of what was measured.

{bands(found.orders)}

## Whether a window holds

Windows of {widths} % to either side of the measured mini-batch of each setting, asked about every other setting of its
network.

{bands(found.windows)}
"""


def bands(rows: pd.DataFrame) -> str:
    """One line for each way to know steps and each band of what was told, and the score of all."""
    lines = []
    for steps, own in rows.groupby("steps", sort=True):
        for band in band_table(own).to_dict("records"):
            told = f"{percent(band['low'], 0)} to {percent(band['high'], 0)} %"
            lines.append([str(steps), told, str(band["n"]), *(cell(band[name]) for name in ("told", "held"))])
        scored = f"all, Brier score {brier_score(own):.4f}"
        lines.append([str(steps), scored, str(len(own)), *(cell(float(own[name].mean())) for name in ("told", "held"))])
    return table(HEADS, lines)


def cell(share: float) -> str:
    """A share in percent, or a dash where there is none."""
    return "-" if pd.isna(share) else f"{percent(share, 1)} %"
