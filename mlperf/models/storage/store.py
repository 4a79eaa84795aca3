"""Model files: plain numbers in a fixed order under one envelope, read strictly, predicting bit-equal, never a pickle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from mlperf.core.documents import file_text
from mlperf.core.errors import DataError, MlperfError, UsageError
from mlperf.core.files import write_text_whole
from mlperf.core.json_fields import Fields
from mlperf.core.shown import plain
from mlperf.models.registry import STORED, load_class
from mlperf.models.storage.document import document_from_json, document_to_json, placed

FORMAT = "mlperf-model"
VERSION = 1
OWN_FORMAT = "mlperf-"
"""Begins a kind that stands in the envelope as a format of its own, without the key ``kind``."""
ENVELOPE = ("format", "version", "kind")

KINDS: dict[str, str] = dict(STORED)
"""Fitted estimators: kind in the file to the class that reads and writes it."""


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


def kind_of(model: object, kinds: Mapping[str, str] = KINDS) -> str:
    """Name under which the store files this object's class.

    Raises
    ------
    UsageError
        The class is not among ``kinds``.
    """
    home = f"{type(model).__module__}:{type(model).__qualname__}"
    for kind, known in kinds.items():
        if known == home:
            return kind
    raise UsageError(
        f"got {type(model).__name__}, expected one of {', '.join(sorted(kinds))}",
        place="model_to_json",
        hint="Other scikit-learn learners go through write_learner (extra 'learners').",
    )


def class_of(kind: str, place: str, kinds: Mapping[str, str] = KINDS) -> type[Storable]:
    """Class that reads models of this kind; DataError at ``place`` where there is none."""
    if kind not in kinds:
        raise DataError(f"got {kind!r}, expected one of {', '.join(sorted(kinds))}", place=place)
    found: type[Storable] = load_class(kinds[kind])
    return found


def envelope(kind: str) -> dict[str, Any]:
    """First keys of a document of this kind."""
    if kind.startswith(OWN_FORMAT):
        return {"format": kind, "version": VERSION}
    return {"format": FORMAT, "version": VERSION, "kind": kind}


def kind_in(document: Any, path: str = "$", kinds: Mapping[str, str] = KINDS) -> str:
    """Kind that a document's envelope names.

    Raises
    ------
    DataError
        With the JSON path: no object, another format, or an unknown version.
    """
    fields = Fields(document, path)
    form = fields.text("format", (FORMAT, *(kind for kind in kinds if kind.startswith(OWN_FORMAT))))
    version = fields.integer("version")
    if version != VERSION:
        raise DataError(
            f"got version {version}, expected {VERSION}",
            place=f"{path}.version",
            hint="Train again, or install the release that wrote the file.",
        )
    return fields.text("kind") if form == FORMAT else form


def model_to_dict(model: Storable, kinds: Mapping[str, str] = KINDS) -> dict[str, Any]:
    """Envelope (format, version, kind) and state of a fitted model as JSON types."""
    return {**envelope(kind_of(model, kinds)), **plain(model.to_dict())}


def model_from_dict(document: Any, path: str = "$", kinds: Mapping[str, str] = KINDS) -> Any:
    """Fitted model from the JSON types of `model_to_dict`.

    Raises
    ------
    DataError
        With the JSON path: not a model, unknown version or kind, missing or unknown key, wrong length, not finite.
    """
    kind = kind_in(document, path, kinds)
    owner = class_of(kind, f"{path}.kind", kinds)
    body = {key: value for key, value in document.items() if key not in ENVELOPE}
    with as_document_error(kind, path):
        return owner.from_dict(body, path)


@contextmanager
def as_document_error(kind: str, path: str) -> Iterator[None]:
    """Turn what a reader trips over into an error of the document that it reads.

    Raises
    ------
    DataError
        A value is of another kind or shape than a model of this kind has.
    """
    try:
        yield
    except MlperfError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise DataError(f"not a model of kind {kind}: {type(error).__name__}: {error}", place=path) from error


def model_to_json(model: Storable, kinds: Mapping[str, str] = KINDS) -> str:
    """A fitted model as one JSON text: sorted keys, floats in their shortest exact form, one trailing newline.

    The same data and seed give the same text outside ``provenance``.

    Raises
    ------
    UsageError
        Where the model's class is not registered.
    """
    return document_to_json(model_to_dict(model, kinds))


def model_from_json(text: str, path: str | Path | None = None, kinds: Mapping[str, str] = KINDS) -> Any:
    """Fitted model from the text of `model_to_json`; predictions, intervals and flags are bit-equal to the saved one's.

    Parameters
    ----------
    text : str
        The JSON text.
    path : path, optional
        File it came from, for error messages.
    kinds : mapping
        Homes by kind; by default those of estimators.

    Raises
    ------
    DataError
        Where the text is no model of this version; the place is ``file: $.json.path``.
    """
    return placed(path, lambda: model_from_dict(document_from_json(text), kinds=kinds))


def write_model(model: Storable, path: str | Path, kinds: Mapping[str, str] = KINDS) -> None:
    """Write `model_to_json` to ``path``, whole or not at all."""
    write_text_whole(Path(path), model_to_json(model, kinds))


def read_model(path: str | Path, kinds: Mapping[str, str] = KINDS) -> Any:
    """Read a model that `write_model` wrote.

    Raises
    ------
    DataError
        Where the file cannot be read or holds no model.
    """
    return model_from_json(file_text(path), path, kinds)
