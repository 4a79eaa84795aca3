"""What the figures of a campaign share: its tables and its models, each made once and only when a figure asks for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from mlperf.core.errors import DataError
from mlperf.datasets import Campaign
from mlperf.models import GridLocal
from mlperf.specs.machine import MachineSpec
from mlperf.training.gradient.gradient_characteristics import GradientCharacteristics
from mlperf.training.gradient.gradient_data import GradientData, gradient_data
from mlperf.training.model import Model
from mlperf.training.training import fit_sgemm, train_campaign

IMAGENET_SIZE = 1_281_167


@dataclass(frozen=True, eq=False)
class FigureInputs:
    """A campaign and what is to be drawn of it.

    Attributes
    ----------
    campaign : Campaign
        What was measured.
    given : Model or None
        Model whose predictions are drawn; None trains one on the campaign where a figure needs it.
    machines : tuple of MachineSpec
        Nodes and networks of figures 12 and 13.
    cnns : tuple of str
        Networks to draw; empty chooses some.
    window : (float, float) or None
        Window of the mean mini-batch size in figures 12 and 13, samples per update.
    second : Campaign or None
        Campaign of a second machine, for figure 13.
    dataset_size : int
        Samples of an epoch in figures 12 and 13.
    seed, jobs : int
        Of models that are trained, and of sampled points.
    tell : callable
        Gets one line before something that takes long.
    """

    campaign: Campaign
    given: Model | None = None
    machines: tuple[MachineSpec, ...] = ()
    cnns: tuple[str, ...] = ()
    window: tuple[float, float] | None = None
    second: Campaign | None = None
    dataset_size: int = IMAGENET_SIZE
    seed: int = 0
    jobs: int = 1
    tell: Callable[[str], None] = field(default=lambda _: None)

    def __post_init__(self) -> None:
        unknown = [name for name in self.cnns if name not in self.campaign.cnns]
        if unknown:
            known = ", ".join(sorted(self.campaign.cnns))
            raise DataError(f"got CNN {unknown[0]!r}, expected one of {known}", place=str(self.campaign.path))

    @cached_property
    def products(self) -> GridLocal:
        """The local model of isolated products."""
        found = fit_sgemm(self.campaign)
        if found is None:
            raise DataError("got no sgemm.csv, expected one", place=str(self.campaign.path))
        return found

    @cached_property
    def gradient(self) -> GradientData:
        """Kernels and steps, medians over rounds; of the backend of the given model, else of the first one."""
        kernels = self.campaign.table("kernels")
        backends = sorted(kernels["backend"].unique())
        own = self.given.gradient.backend if self.given is not None else ""
        grid = self.products if self.campaign.sgemm is not None else None
        return gradient_data(self.campaign, grid, own if own in backends else str(backends[0]))

    @cached_property
    def characteristics(self) -> GradientCharacteristics:
        """The same with the characteristics that a training offers unasked."""
        return GradientCharacteristics.of(self.campaign, self.gradient, None)

    @cached_property
    def model(self) -> Model:
        """The given model, or one trained on the campaign with folds of left-out networks."""
        if self.given is not None:
            return self.given
        self.tell("training a model on the campaign")
        return train_campaign(self.campaign, backend=self.gradient.backend, seed=self.seed, jobs=self.jobs)

    @property
    def is_own_model(self) -> bool:
        """Whether the model was trained on this campaign."""
        return self.campaign.sha256 in self.model.provenance["data_sha256"].values()
