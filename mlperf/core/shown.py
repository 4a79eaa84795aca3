"""The base of every result: one frozen thing that shows itself as frame, dict, text and HTML."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import pandas as pd


UNCHANGED = frozenset({bool, int, str, type(None)})


def plain(value: Any) -> Any:
    """Turn a result's value into JSON types; NaN and infinities become the strings ``"NaN"``, ``"Inf"``, ``"-Inf"``."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        return value if math.isfinite(value) else ("Inf" if value > 0 else "-Inf")
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "to_dict") and not hasattr(value, "to_numpy"):
        return value.to_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "to_numpy") and hasattr(value, "columns"):
        rows = [_each_plain(row) for row in value.itertuples(index=False)]
        return {"columns": [str(name) for name in value.columns], "rows": rows}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, (list, tuple, set, frozenset)):
        return _each_plain(value)
    return str(value)


def _each_plain(values: Iterable[Any]) -> list[Any]:
    """`plain` of each; numbers and texts, of which a stored model has hundreds of thousands, without a call."""
    return [
        value if type(value) in UNCHANGED or (type(value) is float and math.isfinite(value)) else plain(value) for value in values
    ]


def records_frame(kind: type, records: Iterable[Any]) -> pd.DataFrame:
    """One row a record of one dataclass ``kind``, one column a field, in the order of both; columns even without records."""
    import pandas as pd

    names = [field.name for field in dataclasses.fields(kind)]
    return pd.DataFrame([{name: getattr(one, name) for name in names} for one in records], columns=names)


class Shown:
    """Mixin for frozen, slotted dataclasses: ``to_dict``, ``to_frame``, ``_repr_html_``.

    One that shows itself as a table that it holds names the field: ``class Ranking(Shown, frame="changes")``.
    """

    __slots__ = ()
    _frame: ClassVar[str] = ""

    def __init_subclass__(cls, *, frame: str = "") -> None:
        super().__init_subclass__()
        # A dataclass with slots is made twice, the second time without the keyword.
        cls._frame = frame or cls._frame

    def to_dict(self) -> dict[str, Any]:
        """Every field as JSON types (numbers in the units that the field names say)."""
        return {field.name: plain(getattr(self, field.name)) for field in dataclasses.fields(self)}  # type: ignore[arg-type]

    def to_frame(self) -> pd.DataFrame:
        """The table that the class names, or one row per field; results that are made into tables override this."""
        import pandas as pd

        if self._frame:
            table: pd.DataFrame = getattr(self, self._frame)
            return table
        return pd.DataFrame(self.to_dict().items(), columns=["field", "value"])

    def __repr__(self) -> str:
        """The frame in a few lines; dataclasses that hold whole models or grids are declared with ``repr=False`` for it."""
        import pandas as pd

        with pd.option_context("display.max_rows", 12, "display.max_columns", 12, "display.width", 120):
            return f"{type(self).__name__}\n{self.to_frame()!r}"

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(index=False, border=0))
