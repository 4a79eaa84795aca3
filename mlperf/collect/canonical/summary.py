"""What a call that measures constants has done."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from mlperf.core.shown import Shown


@dataclass(frozen=True, slots=True)
class MeasuredConstants(Shown):
    """Where a table of constants is.

    Attributes
    ----------
    folder : str
        Its folder.
    table : str
        ``"canonical"`` or ``"network"``.
    n_rows, n_cases : int
        Rows of the table, and different measurements among them.
    elapsed_s : float
        Time of this call.
    flags : tuple of str
        What looks wrong.
    """

    folder: str
    table: str
    n_rows: int
    n_cases: int
    elapsed_s: float
    flags: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """One row, and one for each flag."""
        first = {"table": self.table, "rows": self.n_rows, "cases": self.n_cases, "elapsed_s": self.elapsed_s, "flag": ""}
        return pd.DataFrame([first, *({**dict.fromkeys(first, ""), "flag": flag} for flag in self.flags)])
