"""A plan of a network: stripes, copies and threads of every layer, as people write them."""

from __future__ import annotations

from dataclasses import dataclass

from mlperf.core.errors import UsageError

HINT = "A plan is stripes x copies x threads of every layer: 2x1x1/2x1x1/1x1x1."


@dataclass(frozen=True, slots=True)
class LayerPlan:
    """How one layer is spread: P stripes, R copies that work on different samples, H threads in each segment."""

    n_stripes: int
    n_copies: int
    n_threads: int

    @property
    def n_hosts(self) -> int:
        """Workers that host a segment; segment (r, p) sits on worker r P + p."""
        return self.n_stripes * self.n_copies


def read_plan(text: str, place: str = "plan") -> tuple[LayerPlan, ...]:
    """The plan that a text gives.

    Raises
    ------
    UsageError
        No such plan.
    """
    parts = [layer.split("x") for layer in text.split("/")]
    if not all(len(part) == 3 and all(word.isdecimal() and int(word) >= 1 for word in part) for part in parts):
        raise UsageError(f"got the plan {text!r}, expected three counts a layer", place=place, hint=HINT)
    return tuple(LayerPlan(*map(int, part)) for part in parts)
