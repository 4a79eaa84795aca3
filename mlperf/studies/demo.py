"""`mlperf demo`: the whole path on a real campaign, with CNNs held out of everything that is fitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.core.shown import Shown
from mlperf.planning.compare import Comparison, compare_runs
from mlperf.planning.predict import predict_epoch
from mlperf.planning.run_prediction import Prediction
from mlperf.planning.search.search import SearchResult, search_runs
from mlperf.specs.job import JobSpec
from mlperf.specs.machine import load_machine
from mlperf.specs.zoo.zoo import zoo_names
from mlperf.training.model import Model
from mlperf.training.training import train_campaign

if TYPE_CHECKING:
    from mlperf.datasets import Campaign

CAMPAIGN = "cpu-epyc"
MACHINE = "cpu-cluster"
DATASET_SIZE = 60_000
WINDOW = (16.0, 64.0)
SUBBATCH_SIZES = range(1, 9)
EVERY = 5
N_FOLDS = 8


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Demo(Shown):
    """Everything the demo computed.

    Attributes
    ----------
    campaign : str
        Its name.
    held_out : tuple of str
        CNNs that nothing was fitted on.
    model : Model
        Trained on the others.
    comparison : Comparison
        Held-out steps, measured beside predicted.
    prediction : Prediction
        An epoch of a held-out CNN on a cluster of such machines.
    search : SearchResult
        The fastest configurations inside a mini-batch window.
    """

    campaign: str
    held_out: tuple[str, ...]
    model: Model
    comparison: Comparison
    prediction: Prediction
    search: SearchResult

    def to_dict(self) -> dict[str, object]:
        """The results; of the model only its accuracy."""
        return {
            "campaign": self.campaign,
            "held_out": list(self.held_out),
            "accuracy": self.model.score.to_dict()["accuracy"],
            "comparison": self.comparison.to_dict(),
            "prediction": self.prediction.to_dict(),
            "search": self.search.to_dict(),
        }

    def to_frame(self) -> pd.DataFrame:
        """Held-out steps, measured beside predicted."""
        return self.comparison.table


def run_demo(
    campaign: Campaign | str | Path | None = None, *, seed: int = 0, jobs: int = 1, tell: Callable[[str], None] | None = None
) -> Demo:
    """Train on some CNNs of a campaign, predict the others, then an epoch and a small search.

    Parameters
    ----------
    campaign : Campaign, str or Path, optional
        Default: the first bundled one.
    seed, jobs : int
        As in `mlperf.train`.
    tell : callable, optional
        Gets one line before each stage.

    Raises
    ------
    DataError
        The campaign has too few CNNs to hold any out.
    """
    from mlperf.datasets import read_campaign

    say = tell or (lambda _: None)
    say("reading the campaign")
    source = CAMPAIGN if campaign is None else campaign
    found = read_campaign(source) if isinstance(source, (str, Path)) else source
    if found.steps is None:
        raise DataError("got no steps.csv, expected whole training steps", place=str(found.path))
    held = held_out_cnns(sorted(found.steps["cnn"].unique()))
    say(f"training on {found.steps['cnn'].nunique() - len(held)} CNNs, {len(held)} are held out")
    # Left-out errors of operations are shown by no part of it.
    model = train_campaign(found, leave_out=held, n_folds=N_FOLDS, seed=seed, jobs=jobs, scored=False)
    say("predicting the held-out CNNs")
    comparison = compare_runs(model, found, cnns=held)
    machine, job = load_machine(MACHINE), JobSpec(dataset_size=DATASET_SIZE, subbatch_size=4, n_nodes=8)
    target = found.cnns[epoch_cnn(held, found)]
    say(f"predicting an epoch of {target.name} on {machine.name}")
    prediction = predict_epoch(model, target, machine, job, seed=seed)
    say("searching nodes x sub-batch")
    search = search_runs(model, target, machine, job, subbatch_size=SUBBATCH_SIZES, minibatch=WINDOW)
    return Demo(found.name, tuple(held), model, comparison, prediction, search)


def epoch_cnn(held: Sequence[str], campaign: Campaign) -> str:
    """The held-out network whose epoch is predicted: the zoo's with the fewest parameters, else the first."""
    zoo = [name for name in held if name in zoo_names()]
    return min(zoo, key=lambda name: campaign.cnns[name].n_params) if zoo else held[0]


def held_out_cnns(names: Sequence[str]) -> list[str]:
    """Every fifth generated CNN in name order, and the zoo's networks always.

    Raises
    ------
    DataError
        Fewer than ten generated CNNs.
    """
    zoo = set(zoo_names())
    generated = [name for name in sorted(names) if name not in zoo]
    if len(generated) < 2 * EVERY:
        raise DataError(f"got {len(generated)} CNNs beside the zoo's, expected at least {2 * EVERY}")
    return [*generated[EVERY - 1 :: EVERY], *(name for name in sorted(names) if name in zoo)]
