"""Types of option values: words with a nearest match, names or files, windows, lists of counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from mlperf.cli.framework.outputs import OutputFile, OutputFolder
from mlperf.core.durations import duration_s
from mlperf.core.errors import DataError
from mlperf.core.suggest import did_you_mean, nearest_hint
from mlperf.specs.templates import SPECIFICATIONS

NEW_FILE = OutputFile()
NEW_PAGE = OutputFile("an HTML page", (".html", ".htm"))
NEW_TABLE = OutputFile("a table as CSV", (".csv", ".txt"))
NEW_ROWS = OutputFile("a table as CSV", (".csv", ".csv.gz", ".txt"))
OLD_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
OLD_OR_INPUT = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
FOLDER = OutputFolder()


MOST_COUNTS = 100_000
LARGEST_COUNT = 10**12


class NumberRange(click.FloatRange):
    """A number between bounds; one that is no number, which lies within any, is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is no number, expected one in the range {self._describe_range()}.", param, ctx)
        return number


class FoldCount(click.IntRange):
    """Folds: at least two, or 0 for one of each group; with one nothing would be fitted."""

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        number = super().convert(value, param, ctx)
        if number == 1:
            self.fail("1 fold leaves nothing to fit on, expected at least 2, or 0: each is left out once.", param, ctx)
        return number


class Words(click.Choice[str]):
    """One of a few words; a wrong one is answered with the nearest."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word, or fail naming the nearest one."""
        if value not in self.choices:
            self.fail(f"no such choice {value!r}. {did_you_mean(str(value), self.choices)}", param, ctx)
        return super().convert(value, param, ctx)


class ModelPath(click.Path):
    """A model's file, or the name of a model that ships."""

    name = "model"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a Path: of a file that exists, or the bare name."""
        from mlperf.studies.model_files import bundled_models

        if str(value) in bundled_models() and not Path(value).exists():
            return Path(value)
        return super().convert(value, param, ctx)


OLD_MODEL = ModelPath(exists=True, dir_okay=False, path_type=Path)


class NameOrFile(click.ParamType):  # type: ignore[type-arg]
    """A shipped specification's name or a TOML file.

    Parameters
    ----------
    kind : str
        What it is, for messages: ``"CNN"``.
    names : callable
        Returns the shipped names; called only when a value is given or completed.
    functions : bool
        Whether ``module:function`` is a value, too.
    """

    name = "name|file"

    def __init__(self, kind: str, names: Callable[[], Sequence[str]], *, functions: bool = False) -> None:
        self.kind = kind
        self.names = names
        self.functions = functions

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path | str:
        """Return a Path for an existing file, the name for a shipped one."""
        text = str(value)
        path = Path(text)
        if is_file(path):
            return path
        if self.functions and ":" in text and path.suffix != ".toml":
            return text
        if path.suffix or len(path.parts) > 1:
            self.fail(self.absent(text), param, ctx)
        if text not in self.names():
            self.fail(self.unknown(text), param, ctx)
        return text

    def absent(self, text: str) -> str:
        """What to say of a file that does not exist."""
        return f"{self.kind} file {text!r} does not exist"

    def unknown(self, text: str) -> str:
        """What to say of a name that nothing has."""
        own = self.kind.lower()
        start = f" A file to start from: mlperf data template {own}." if own in SPECIFICATIONS else ""
        return f"no {self.kind} is called {text!r} and no such file exists. {did_you_mean(text, self.names())}{start}"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Shipped names that begin like this, then files."""
        known = [CompletionItem(name) for name in self.names() if name.startswith(incomplete)]
        return [*known, CompletionItem(incomplete, type="file")]


def is_file(path: Path) -> bool:
    """Whether there is such a file; a name that no file system takes is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


class Window(click.ParamType):  # type: ignore[type-arg]
    """Two numbers ``LO:HI``, 0 <= LO < HI; either may be left out."""

    name = "lo:hi"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, float]:
        """Return (low, high), 0 and infinity where left out."""
        if isinstance(value, tuple):
            return value
        low, colon, high = str(value).partition(":")
        try:
            window = (float(low or 0.0), float(high or "inf"))
        except ValueError:
            self.fail(f"got {value!r}, expected LO:HI, for example 103.5:172.5", param, ctx)
        if not colon or not 0 <= window[0] < window[1]:
            self.fail(f"got {value!r}, expected LO:HI with 0 <= LO < HI, for example 103.5:172.5", param, ctx)
        return window


class Counts(click.ParamType):  # type: ignore[type-arg]
    """Whole numbers from 1: ``8``, ``1,2,4,8``, ``1:16`` (both ends included), ``1:64:3``, or a mixture."""

    name = "counts"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the numbers in ascending order, each once."""
        if isinstance(value, tuple):
            return value
        entries = value if isinstance(value, list) else str(value).split(",")
        ranges = [self.entry(str(entry), param, ctx) for entry in entries]
        n_counts = sum(map(len, ranges))
        if n_counts > MOST_COUNTS:
            self.fail(f"got {n_counts:,} counts, expected at most {MOST_COUNTS:,}: name a step, as in 1:64:3", param, ctx)
        return tuple(sorted({number for each in ranges for number in each}))

    def entry(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> range:
        """The numbers of one comma-separated entry."""
        try:
            parts = [int(part) for part in text.split(":")]
        except ValueError:
            parts = []
        if any(part > LARGEST_COUNT for part in parts):
            self.fail(f"got {text[:40]!r}, expected counts up to {LARGEST_COUNT:,}", param, ctx)
        if not 1 <= len(parts) <= 3 or min(parts) < 1 or parts[0] > parts[min(1, len(parts) - 1)]:
            self.fail(f"got {text[:40]!r}, expected counts from 1 such as 8, 1,2,4 or 1:64", param, ctx)
        first, last, step = [*parts, parts[0], 1][:3] if len(parts) == 1 else [*parts, 1][:3]
        return range(first, last + 1, step)


class SettingValues(click.ParamType):  # type: ignore[type-arg]
    """``NAME=VALUE`` or ``NAME=VALUE,VALUE,...``, a setting of a system and numbers."""

    name = "name=values"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, tuple[float, ...]]:
        """Return (setting, values)."""
        if isinstance(value, tuple):
            return value
        setting, _, numbers = str(value).partition("=")
        try:
            values = tuple(float(number) for number in numbers.split(","))
        except ValueError:
            values = ()
        if not setting.strip() or not values or not all(number == number for number in values):
            self.fail(f"got {value!r}, expected NAME=VALUES, for example accumulation=1,2,4", param, ctx)
        return setting.strip().replace("-", "_"), values


class SystemName(click.ParamType):  # type: ignore[type-arg]
    """A system that ships, or a user's own as ``module:OBJECT``."""

    name = "system"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, checked as far as that needs no numpy."""
        from mlperf.systems.registry import SYSTEMS

        name = str(value)
        if name not in SYSTEMS and ":" not in name:
            hint = nearest_hint(name, SYSTEMS)
            self.fail(f"got {name!r}, expected one of {', '.join(SYSTEMS)}, or module:OBJECT. {hint or ''}".strip(), param, ctx)
        return name

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Names that begin like this."""
        from mlperf.systems.registry import SYSTEMS

        return [CompletionItem(name) for name in SYSTEMS if name.startswith(incomplete)]


class TermList(click.ParamType):  # type: ignore[type-arg]
    """Comma-separated arithmetic expressions; commas in parentheses do not split."""

    name = "terms"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Return one expression an entry."""
        if isinstance(value, (list, tuple)):
            return tuple(value)
        terms = [term.strip() for term in split_outside_parentheses(str(value))]
        if not all(terms):
            self.fail(f"got {value!r}, expected expressions between the commas, for example 'm*n*k, m*n, log2(n)'", param, ctx)
        return tuple(terms)


class NameList(click.ParamType):  # type: ignore[type-arg]
    """Comma-separated words out of a few; a wrong one is answered with the nearest.

    Parameters
    ----------
    known : sequence of str, or callable
        The words; a callable is asked for them only when a value is given.
    what : str
        What one of them is, for messages.
    name : str
        What stands for the value in the help.
    """

    def __init__(self, known: Sequence[str] | Callable[[], Sequence[str]], what: str = "such choice", name: str = "names") -> None:
        self.known = known
        self.what = what
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Return the words in the order given."""
        words = tuple(value) if isinstance(value, (list, tuple)) else tuple(word.strip() for word in str(value).split(","))
        known = self.known() if callable(self.known) else self.known
        for word in words:
            if word not in known:
                self.fail(f"no {self.what} {word!r}. {did_you_mean(word, known)}", param, ctx)
        return words


def split_outside_parentheses(text: str) -> list[str]:
    """The parts of ``text`` between commas that no parenthesis encloses."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


class Factors(click.ParamType):  # type: ignore[type-arg]
    """``COMPONENT=FACTOR``, a component's name and a number >= 0."""

    name = "component=factor"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        """Return (component, factor)."""
        if isinstance(value, tuple):
            return value
        component, _, number = str(value).partition("=")
        try:
            factor = float(number)
        except ValueError:
            factor = -1.0
        if not component or not 0 <= factor < float("inf"):
            self.fail(f"got {value!r}, expected COMPONENT=FACTOR, for example sum_gradient=0.25", param, ctx)
        return component, factor


class Duration(click.ParamType):  # type: ignore[type-arg]
    """A duration such as ``12h``, ``90min`` or ``1h30min``; one of a few words where some are given."""

    name = "duration"

    def __init__(self, *words: str) -> None:
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | str:
        """Return seconds, or the word."""
        if isinstance(value, float) or value in self.words:
            return value  # type: ignore[no-any-return]
        try:
            return duration_s(str(value))
        except DataError as error:
            words = "".join(f", or {word!r}" for word in self.words)
            self.fail(f"{error.message}{words}. {error.hint or ''}".rstrip(), param, ctx)
