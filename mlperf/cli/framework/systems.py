"""What the commands share about systems: which models are of one's own table, which flags belong to SPRINT alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mlperf.core.errors import UsageError

SPRINT = "sprint"
FITTED = ("mlperf-system-fit", "mlperf-servers", "mlperf-step-parts", "mlperf-constants")
"""Kinds of models of systems that were fitted to tables of their own."""

Settings = tuple[tuple[str, tuple[float, ...]], ...]


def is_fitted(model: Any) -> bool:
    """Whether a model is of a system's own table, not of a campaign or of any table."""
    from mlperf.training.systems.constants_model import ConstantsModel
    from mlperf.training.systems.parts_model import PartsModel
    from mlperf.training.systems.server_model import ServerModel
    from mlperf.training.systems.system_fit import SystemFit

    return isinstance(model, (ServerModel, SystemFit, PartsModel, ConstantsModel))


def digests_of(model: Any) -> dict[str, str]:
    """What a model was trained on."""
    return dict(model.provenance.get("data_sha256", {}))


def refuse_of_sprint(given: dict[str, Any], system: str) -> None:
    """Refuse flags that another system than SPRINT does not understand."""
    for flag, value in given.items():
        if value:
            raise UsageError(f"got {flag} with --system {system}, which only sprint understands", hint="Leave it out.")


def refuse_of_systems(settings: Settings, exchange_path: Path | None) -> None:
    """Refuse flags that SPRINT does not understand."""
    hint = "Name another system: --system data-parallel."
    if settings:
        raise UsageError(f"got --set {settings[0][0]}, but sprint has no settings", hint=hint)
    if exchange_path is not None:
        raise UsageError("got --exchange, but sprint's exchange comes from its campaign", hint=hint)


def read_exchange(path: Path | None) -> Any:
    """The model of an exchange in a file; None where there is none."""
    from mlperf import load_model

    return None if path is None else load_model(path, "exchange")
