"""What is measured: sizes, repeats, and over what the two ranks talk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mlperf.core.errors import UsageError
from mlperf.core.places import take_path

PLACE = "mlperf collect loggps"
LEAST_REPEATS = 10
TRANSPORTS: Mapping[str, Mapping[str, str]] = {
    "default": {},
    "shared-memory": {"MPIR_CVAR_NOLOCAL": "0"},
    "tcp": {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self", "FI_PROVIDER": "tcp"},
}
"""Settings of MPICH that force how ranks of one machine talk; other MPIs have their own, which go into --mpiexec."""
SIZES = (
    *(1, 64, 256, 1024, 2048, 4096, 6144, 8192, 12288, 16384),
    *(24576, 32768, 49152, 65536, 98304, 131072, 262144, 524288, 1048576, 2097152, 4194304),
)
QUICK_SIZES = (1, 1024, 4096, 8192, 16384, 32768, 65536, 131072, 524288, 2097152)


@dataclass(frozen=True, slots=True)
class LogGPSRequest:
    """What to measure.

    Attributes
    ----------
    out : Path or str
        TOML file to write.
    transport : str
        One of `TRANSPORTS`.
    repeats : int
        Of every measurement at every size, at least 10: on a machine that is interrupted, the smallest counts.
    quick : bool
        Half of the sizes.
    mpiexec : str or None
        Launcher with its arguments; two hosts in it measure the network between them.
    """

    out: Path
    transport: str = "default"
    repeats: int = 20
    quick: bool = False
    mpiexec: str | None = None

    def __post_init__(self) -> None:
        take_path(self)
        if self.repeats < LEAST_REPEATS:
            hint = "Single measurements are disturbed now and then; the smallest of many is not."
            raise UsageError(f"got {self.repeats} repeats, expected at least {LEAST_REPEATS}", place=PLACE, hint=hint)
        if self.transport not in TRANSPORTS:
            raise UsageError(f"got transport {self.transport!r}, expected one of {', '.join(TRANSPORTS)}", place=PLACE)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bytes of the messages."""
        return QUICK_SIZES if self.quick else SIZES
