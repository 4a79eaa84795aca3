"""Campaign tables that grow: complete rows only, each file replaced whole."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mlperf.core.errors import DataError
from mlperf.core.files import write_bytes_whole
from mlperf.datasets.dictionary.column import UNKNOWN_WORD, TableSchema
from mlperf.datasets.dictionary.schema import TABLES
from mlperf.datasets.reading.source import read_source

DIGITS = 5
COMPRESSED = ("sgemm", "kernels", "rounds")
Row = Mapping[str, Any]


class GrowingTable:
    """One table of a campaign folder.

    Parameters
    ----------
    folder : Path
        The campaign.
    name : str
        A table of the data dictionary. Long ones are written as ``.csv.gz``, a member for each addition.
    tables : mapping
        The dictionary.
    """

    def __init__(self, folder: Path, name: str, tables: Mapping[str, TableSchema] = TABLES) -> None:
        self.schema = tables[name]
        self.path = folder / f"{name}.csv{'.gz' if name in COMPRESSED else ''}"
        self._pending: list[Row] = []

    def add(self, rows: Sequence[Row]) -> None:
        """Remember finished rows until `flush`."""
        self._pending.extend(rows)

    def flush(self) -> None:
        """Append the remembered rows: the old file and the new rows become the new file in one rename.

        A file of an earlier version that lacks columns gets them, ``unknown`` in its old rows.
        """
        if not self._pending:
            return
        if self._is_older():
            self.rewrite([*self.rows(), *self._pending])
            self._pending.clear()
            return
        old = self.path.read_bytes() if self.path.exists() else b""
        text = self._text(self._pending, header=not old)
        write_bytes_whole(self.path, old + self._encode(text))
        self._pending.clear()

    def rows(self) -> list[dict[str, str]]:
        """All rows on disk as text by column name.

        Raises
        ------
        DataError
            The file is cut off or no text, its header is not the data dictionary's, or a row has not a cell for every column.
        """
        if not self.path.exists():
            return []
        reader = self._reader()
        header, older = tuple(reader.fieldnames or ()), self._older_names
        if header not in (self.schema.names, older):
            raise DataError(
                f"got columns {', '.join(header)}, expected {', '.join(self.schema.names)}",
                place=f"{self.path}, line 1",
                hint="Collect into a new folder.",
            )
        untold = {name: UNKNOWN_WORD for name in self.schema.names if name not in header}
        return [{**row, **untold} for row in self._whole(reader)]

    def _whole(self, reader: csv.DictReader[str]) -> Iterator[dict[str, str]]:
        """Rows with a cell for every column, and with numbers of rounds that can be gone on from."""
        names = reader.fieldnames or ()
        for row in reader:
            n_cells = sum(1 for name in names if row[name] is not None) + len(row.get(None, ()))
            place = f"{self.path}, line {reader.line_num}"
            if n_cells != len(names):
                hint = "The file was cut off or edited: remove this row, and the same command measures it again."
                raise DataError(f"got {n_cells} cells, expected {len(names)} as in the header", place=place, hint=hint)
            for name in ("round", "sequence"):
                if name in row and not row[name].isdecimal():
                    hint = "The file was edited: remove this row, and the same command measures it again."
                    raise DataError(f"got {row[name]!r}, expected a whole number", place=f"{place}, column {name}", hint=hint)
            yield row

    def rewrite(self, rows: Sequence[Row]) -> None:
        """Replace the file by ``rows`` in one stream; an empty table has no file."""
        if rows:
            write_bytes_whole(self.path, self._encode(self._text(rows, header=True)))
        else:
            self.path.unlink(missing_ok=True)

    @property
    def _older_names(self) -> tuple[str, ...]:
        return tuple(name for name in self.schema.names if name not in self.schema.untold)

    def _reader(self) -> csv.DictReader[str]:
        return csv.DictReader(io.StringIO(read_source(self.path).text))

    def _is_older(self) -> bool:
        return bool(self.schema.untold) and self.path.exists() and tuple(self._reader().fieldnames or ()) == self._older_names

    def _encode(self, text: str) -> bytes:
        content = text.encode("utf-8")
        return gzip.compress(content, compresslevel=9, mtime=0) if self.path.suffix == ".gz" else content

    def _text(self, rows: Sequence[Row], *, header: bool) -> str:
        lines = [",".join(self.schema.names)] if header else []
        lines.extend(",".join(cell(row[name]) for name in self.schema.names) for row in rows)
        return "\n".join(lines) + "\n"


def cell(value: Any) -> str:
    """Text of one cell: five significant digits are far below the noise of any time; quotes where a name needs them."""
    text = f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text
