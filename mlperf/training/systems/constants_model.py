"""Canonical measurements as a model: constants of a machine, and how well they meet the loops that they were fitted to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields, frame_from_dict
from mlperf.core.provenance import provenance
from mlperf.core.shown import Shown, plain
from mlperf.specs.constants import MachineConstants, constants_from_dict, constants_to_dict
from mlperf.training.systems.canonical_fit import fit_constants
from mlperf.training.systems.machine_constants import machine_constants


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConstantsModel(Shown):
    """What ``mlperf train --system model-parallel`` makes of a folder of ``mlperf collect canonical``.

    Attributes
    ----------
    constants : MachineConstants
        As plans are predicted and made with.
    table : DataFrame
        Every fitted constant with its standard error: ``constant, kind, pass, at, value, std_err``.
    errors : DataFrame
        How well the loops themselves are met: ``kind, pass, n_rows, mape`` (a fraction).
    provenance : mapping
    """

    constants: MachineConstants
    table: pd.DataFrame
    errors: pd.DataFrame
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def misfit(self) -> float:
        """Mean relative error of the loops, over passes and kinds."""
        return float(np.average(self.errors["mape"], weights=self.errors["n_rows"]))

    def to_frame(self) -> pd.DataFrame:
        """One row a constant."""
        return self.table

    def to_dict(self) -> dict[str, Any]:
        """The document that `mlperf.save_model` writes, without its envelope."""
        found = {name: plain(getattr(self, name)) for name in ("table", "errors", "provenance")}
        return {**found, "constants": constants_to_dict(self.constants)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> ConstantsModel:
        """The model again from a document without its envelope; raises DataError with the JSON path of what is wrong."""
        with Fields(document, path) as fields:
            given = fields.raw("constants")
            if not isinstance(given, Mapping):
                raise DataError(f"got {given!r}, expected constants", place=f"{path}.constants")
            errors = frame_from_dict(fields.raw("errors"), f"{path}.errors")
            columns = [name for name in ("mape", "n_rows") if name in errors and pd.api.types.is_numeric_dtype(errors[name])]
            if len(columns) < 2 or not errors["n_rows"].sum() > 0:
                raise DataError("expected numbers in mape and n_rows", place=f"{path}.errors")
            return cls(
                constants=constants_from_dict(given),
                table=frame_from_dict(fields.raw("table"), f"{path}.table"),
                errors=errors,
                provenance=dict(fields.raw("provenance")),
            )


def train_constants(
    folder: Path | str, *, latency_s: float | None = None, bytes_per_s: float | None = None, seed: int = 0
) -> ConstantsModel:
    """Fit the constants of a machine from what ``mlperf collect canonical`` and ``mlperf collect network`` measured.

    Parameters
    ----------
    folder : path
        With ``canonical.csv``; ``network.csv`` where the network was measured.
    latency_s, bytes_per_s : float, optional
        Of the network from a data sheet, in place of measured ones; the constants then say so.
    seed : int
        Of the bootstrap behind standard errors.

    Raises
    ------
    DataError
        No such tables, or more than one code in them.
    FitError
        Too few rows, or no network was measured and none was given.

    References
    ----------
    Yan, Ruwase, He, Chilimbi (KDD 2015), eqs. 5 to 9 and figure 5.
    """
    fit = fit_constants(folder, seed=seed)
    found = machine_constants(fit, Path(folder).resolve().name, latency_s=latency_s, bytes_per_s=bytes_per_s)
    return ConstantsModel(
        found, fit.table, fit.errors.reset_index(drop=True), provenance(data_sha256=_digests(Path(folder)), seed=seed)
    )


def _digests(folder: Path) -> dict[str, str]:
    found = (folder / name for name in ("canonical.csv", "network.csv"))
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in found if path.exists()}
