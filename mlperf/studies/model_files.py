"""Model files of every kind, through one function each way: of campaigns, tables, kernels, epochs, and of single estimators."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mlperf.core.documents import file_text, read_json
from mlperf.core.errors import PATH, DataError, UsageError, check_type
from mlperf.datasets.campaigns.bundled import bundled_path
from mlperf.models.storage.document import document_from_json, placed
from mlperf.models.storage.store import KINDS, kind_in, model_from_dict, write_model
from mlperf.specs.devices import device_sheet, sheet_of
from mlperf.specs.kernels.explicit import further_layer
from mlperf.training.measured_on import device_of, same_name

if TYPE_CHECKING:
    from mlperf.specs.machine import MachineSpec
    from mlperf.specs.network.cnn import CnnSpec


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One kind of model file.

    Attributes
    ----------
    home : str
        ``"module:Class"`` that reads and writes it.
    words : str
        ``"of a table"``.
    hint : str
        Who takes such a file.
    """

    home: str
    words: str
    hint: str


TRAINED = "It is asked with mlperf predict, report and compare."
STEPS = f"{TRAINED} Lists of sizes name the fastest: mlperf predict MODEL --nodes 1:16 --gpus-per-node 1,2,4."
MODEL_FILES: Mapping[str, ModelFile] = MappingProxyType(
    {
        "system": ModelFile("mlperf.training.model:Model", "of a campaign", TRAINED),
        "table": ModelFile("mlperf.training.table.table_model:TableModel", "of a table", TRAINED),
        "kernels": ModelFile(
            "mlperf.studies.kernels.kernel_model:KernelModel", "of single kernels", "Ask it with mlperf kernels predict."
        ),
        "mlperf-calibration": ModelFile(
            "mlperf.planning.calibration.foreign:Calibration", "that calibrates a predictor", "Give it to mlperf calibrate --apply."
        ),
        "exchange": ModelFile(
            "mlperf.training.collectives.exchange_model:ExchangeModel", "of an exchange", "Give it to mlperf train --exchange."
        ),
        "mlperf-system-fit": ModelFile("mlperf.training.systems.system_fit:SystemFit", "of a system's steps", STEPS),
        "mlperf-servers": ModelFile("mlperf.training.systems.server_model:ServerModel", "of parameter servers", TRAINED),
        "mlperf-step-parts": ModelFile("mlperf.training.systems.parts_model:PartsModel", "of the parts of steps", STEPS),
        "mlperf-constants": ModelFile(
            "mlperf.training.systems.constants_model:ConstantsModel",
            "of a machine's constants",
            "Give it to mlperf optimize --constants.",
        ),
        "mlperf-quality": ModelFile(
            "mlperf.training.quality.quality_model:QualityModel", "of epochs to an accuracy", "Give it to mlperf search --quality."
        ),
    }
)
MOST_LETTERS = 40
BUNDLED = Path(__file__).parent / "data"
"""Models that ship with the package, trained by ``mlperf train NAME`` on the bundled campaign of their name."""

DEFAULT_MODEL = "cpu-epyc"
LIBRARY_MODEL = "cpu-xeon-layers"
"""Answers in its place for networks with layers that the NumPy engine does not run."""
HOST = "host.json"
ESTIMATOR = ModelFile("", "that is a single estimator", "In Python mlperf.load_model reads it.")


def save_model(model: Any, path: str | Path) -> None:
    """Write a model as JSON, whole or not at all; same data and seed give the same bytes outside ``provenance``.

    Raises
    ------
    UsageError
        Models of this class cannot be stored, or the path is none.
    """
    check_type(path, PATH, "path", "the path of a file", "As in save_model(model, 'model.json').")
    write_model(model, path, homes())


def load_model(path: str | Path, *expected: str) -> Any:
    """Read what `save_model` wrote.

    Parameters
    ----------
    path : path
        The file; or the name of a model that ships (`bundled_models`), where there is no such file.
    *expected : str
        Kinds of `MODEL_FILES` that the caller can use; by default every kind, and single estimators.

    Raises
    ------
    DataError
        Not such a file; the place is ``file: $.json.path``.
    UsageError
        A model of another kind than was expected, or the path is none.
    """
    check_type(path, PATH, "path", "a file or the name of a model that ships")

    def read() -> Any:
        text = _text(path)
        check_no_table(text, path)
        document = document_from_json(text)
        kind = kind_in(document, kinds=homes())
        if expected and kind in homes() and kind not in expected:
            found = MODEL_FILES.get(kind, ESTIMATOR)
            wanted = " or ".join(MODEL_FILES[name].words for name in expected)
            raise UsageError(f"got a model {found.words}, expected one {wanted}", place=str(path), hint=found.hint)
        return model_from_dict(document, kinds=homes())

    return placed(path, read)


def check_no_table(text: str, path: str | Path) -> None:
    """Refuse a table where a model file is expected.

    Raises
    ------
    DataError
        The text begins as a table does; says how to make a model of it.
    """
    first = text.lstrip("\ufeff \t\r\n").partition("\n")[0]
    if not first or first[0] in "{[" or not any(mark in first for mark in ",;\t|"):
        return
    hint = f"Train on the table first: mlperf train {path} --target COLUMN -o model.json, then give model.json."
    raise DataError(
        f"got a table that begins with {first[:MOST_LETTERS]!r}, expected a model file (JSON)", place=f"{path}, line 1", hint=hint
    )


def bundled_models() -> tuple[str, ...]:
    """Names of the models that ship with the package; `load_model` reads them."""
    return tuple(sorted(path.name.removesuffix(".json.gz") for path in BUNDLED.glob("*.json.gz")))


def model_for(machine: MachineSpec | None, cnns: Sequence[CnnSpec] = ()) -> str:
    """Name of the shipped model whose times were measured on the machine's processor, else on what is nearest to it.

    ``H100`` gets the model of the ``NVIDIA H100 80GB HBM3``, and its answers say that this is what was measured. Another device,
    of which the data sheet is known, gets the model of a device (see `mlperf.training.elsewhere.model_on`).

    Parameters
    ----------
    machine : MachineSpec or None
        Asked about.
    cnns : sequence of CnnSpec
        What is asked about.

    Returns
    -------
    str
        `DEFAULT_MODEL` where nothing is near; `LIBRARY_MODEL` in its place where a network has layers that it does not know.
    """
    found = DEFAULT_MODEL if machine is None or not machine.processor else _measured_on(machine, machine.processor)
    is_further = any(further_layer(cnn) is not None for cnn in cnns)
    return LIBRARY_MODEL if is_further and found == DEFAULT_MODEL else found


def _measured_on(machine: MachineSpec, processor: str) -> str:
    measured = {name: _measured(name) for name in bundled_models()}
    same = [name for name, own in measured.items() if same_name(processor, own)]
    akin = [name for name, own in measured.items() if _words(processor) and _words(processor) <= _words(own)]
    devices = [name for name, own in measured.items() if device_sheet(own)] if sheet_of(machine) else []
    return next(iter((*same, *akin, *devices)), DEFAULT_MODEL)


def _words(name: str) -> set[str]:
    return set(re.findall(r"\w+", name.casefold()))


def _measured(name: str) -> str:
    """What ran the steps of a bundled campaign."""
    facts = read_json(bundled_path(name) / HOST, dict)
    return device_of(facts) or str(facts.get("host", {}).get("processor", ""))


def _text(path: str | Path) -> str:
    if str(path) in bundled_models() and not Path(path).exists():
        return gzip.decompress((BUNDLED / f"{path}.json.gz").read_bytes()).decode("utf-8")
    return file_text(path)


def homes() -> dict[str, str]:
    """Class of every kind of model file."""
    return {**KINDS, **{kind: file.home for kind, file in MODEL_FILES.items()}}
