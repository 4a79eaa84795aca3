"""What sources have in common that programs write themselves."""

from __future__ import annotations


class ByProgram:
    """Nothing runs beside the command: what recording takes is in its own processor time."""

    def follow(self, pid: int) -> None:
        """Programs begin by themselves."""

    def stop(self) -> float:
        """Programs end by themselves."""
        return 0.0
