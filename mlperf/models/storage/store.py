"""Models as JSON: plain numbers in a fixed order, read strictly, predicting bit-equal, never a pickle."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from mlperf.core.errors import DataError, MlperfError, UsageError
from mlperf.core.files import write_text_whole
from mlperf.core.json_fields import Fields
from mlperf.core.shown import plain

FORMAT = "mlperf-model"
VERSION = 1
MAX_BYTES = 256 * 2**20
MAX_DEPTH = 64

KINDS: dict[str, str] = {
    #  kind in the file      class that reads and writes it
    "stepwise_ols": "mlperf.models.estimators.stepwise.stepwise:StepwiseOLS",
    "nonnegative": "mlperf.models.estimators.members.nonnegative:NonNegativeOLS",
    "log": "mlperf.models.estimators.members.log_linear:LogOLS",
    "huber": "mlperf.models.estimators.members.robust:HuberOLS",
    "quantile": "mlperf.models.estimators.members.quantile:QuantileOLS",
    "grid_local": "mlperf.models.estimators.local.grid_local:GridLocal",
    "scatter_local": "mlperf.models.estimators.local.scatter_local:ScatterLocal",
    "ratio_local": "mlperf.models.estimators.local.ratio_local:RatioLocal",
    "boosted_residual": "mlperf.models.estimators.learning.boosted:BoostedResidual",
    "recursive_least_squares": "mlperf.models.online.recursive:RecursiveLeastSquares",
}
ENVELOPE = ("format", "version", "kind")


class Storable(Protocol):
    """What the store asks of an estimator: its state as JSON types, and back."""

    def to_dict(self) -> dict[str, Any]:
        """State after ``fit`` as JSON types, without the envelope's keys."""
        ...

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> Storable:
        """The fitted estimator again; raises DataError with the JSON path of what is wrong."""
        ...


def register_kind(kind: str, home: str) -> None:
    """Let the store read and write one more class.

    Parameters
    ----------
    kind : str
        Name in the file, ``"my_model"``.
    home : str
        ``"package.module:ClassName"``; imported when first needed.

    Raises
    ------
    UsageError
        Where ``kind`` already belongs to another class.
    """
    if KINDS.get(kind, home) != home:
        raise UsageError(f"got kind {kind!r}, which belongs to {KINDS[kind]}", hint="Choose another name.")
    KINDS[kind] = home


def kind_of(estimator: object) -> str:
    """Name under which the store files this object's class."""
    for kind, home in KINDS.items():
        module, _, name = home.partition(":")
        if (type(estimator).__module__, type(estimator).__qualname__) == (module, name):
            return kind
    raise UsageError(
        f"got {type(estimator).__name__}, expected one of {', '.join(sorted(KINDS))}",
        place="model_to_json",
        hint="Other scikit-learn learners go through write_learner (extra 'learners').",
    )


def class_of(kind: str, place: str) -> type[Storable]:
    """Class that reads models of this kind; DataError at ``place`` where there is none."""
    if kind not in KINDS:
        raise DataError(f"got {kind!r}, expected one of {', '.join(sorted(KINDS))}", place=place)
    module, _, name = KINDS[kind].partition(":")
    found: type[Storable] = getattr(import_module(module), name)
    return found


def model_to_dict(estimator: Storable) -> dict[str, Any]:
    """Envelope (format, version, kind) and state of a fitted estimator as JSON types."""
    kind = kind_of(estimator)
    return {"format": FORMAT, "version": VERSION, "kind": kind, **plain(estimator.to_dict())}


def model_from_dict(document: Any, path: str = "$") -> Any:
    """Fitted estimator from the JSON types of `model_to_dict`.

    Raises
    ------
    DataError
        With the JSON path: not a model, unknown version or kind, missing or unknown key, wrong length, not finite.
    """
    fields = Fields(document, path)
    fields.text("format", (FORMAT,))
    version = fields.integer("version")
    if version != VERSION:
        raise DataError(
            f"got version {version}, expected {VERSION}",
            place=f"{path}.version",
            hint="Train again, or install the release that wrote the file.",
        )
    owner = class_of(fields.text("kind"), f"{path}.kind")
    body = {key: value for key, value in document.items() if key not in ENVELOPE}
    try:
        return owner.from_dict(body, path)
    except MlperfError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        # A reader that trips over a hostile document is still an error of the document.
        raise DataError(f"not a model of kind {fields.text('kind')}: {type(error).__name__}: {error}", place=path) from error


def model_to_json(estimator: Storable) -> str:
    """A fitted estimator as one JSON text: sorted keys, floats in their shortest exact form, one trailing newline.

    The same data and seed give the same text outside ``provenance``.

    Raises
    ------
    UsageError
        Where the estimator's class is not registered.
    """
    return document_to_json(model_to_dict(estimator))


def model_from_json(text: str, path: str | Path | None = None) -> Any:
    """Fitted estimator from the text of `model_to_json`; predictions, intervals and flags are bit-equal to the saved one's.

    Parameters
    ----------
    text : str
        The JSON text.
    path : path, optional
        File it came from, for error messages.

    Raises
    ------
    DataError
        Where the text is no model of this version; the place is ``file: $.json.path``.
    """
    return placed(path, lambda: model_from_dict(document_from_json(text)))


def write_model(estimator: Storable, path: str | Path) -> None:
    """Write `model_to_json` to ``path``, whole or not at all."""
    write_text_whole(Path(path), model_to_json(estimator))


def read_model(path: str | Path) -> Any:
    """Read an estimator that `write_model` wrote.

    Raises
    ------
    DataError
        Where the file cannot be read or holds no model.
    """
    return model_from_json(text_of(path), path)


def document_to_json(document: Mapping[str, Any]) -> str:
    """Any document of JSON types in the store's canonical form (sorted keys, no NaN literals, trailing newline)."""
    return json.dumps(document, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def document_from_json(text: str) -> Any:
    """Parse JSON strictly: no duplicate keys, no NaN literals, bounded size and depth.

    Raises
    ------
    DataError
        Where the text is not such JSON.
    """
    if len(text) > MAX_BYTES:
        raise DataError(f"got {len(text)} characters, expected at most {MAX_BYTES}", place="$")
    try:
        document = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        raise DataError(f"got brackets nested too deeply, expected at most {MAX_DEPTH}", place="$") from None
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON: {error.msg}", place=f"line {error.lineno}, column {error.colno}") from None
    except ValueError as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"not JSON: {error}", place="$") from None
    if _depth(document) > MAX_DEPTH:
        raise DataError(f"got brackets nested too deeply, expected at most {MAX_DEPTH}", place="$")
    return document


def text_of(path: str | Path) -> str:
    """Text of a file; DataError where it is missing, too large or not UTF-8."""
    path = Path(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise DataError(f"got {path.stat().st_size} bytes, expected at most {MAX_BYTES}", place=str(path))
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", place=str(path)) from None
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 at byte {error.start}", place=str(path)) from None


def placed(path: str | Path | None, read: Callable[[], Any]) -> Any:
    """Call ``read()`` and put the file's name before the place of its DataError."""
    try:
        return read()
    except DataError as error:
        if path is None:
            raise
        raise DataError(error.message, place=f"{path}: {error.place}" if error.place else str(path), hint=error.hint) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"key {twice!r} appears twice in one object", place="$")
    return document


def _no_constant(text: str) -> Any:
    raise DataError(f'got the literal {text}, expected "NaN", "Inf" or "-Inf" as a string', place="$")


def _depth(document: Any) -> int:
    level, depth = [document], 0
    while level:
        depth += 1
        level = [
            item
            for value in level
            if isinstance(value, (dict, list))
            for item in (value.values() if isinstance(value, dict) else value)
            if isinstance(item, (dict, list))
        ]
    return depth
