"""Options of a whole run around the epochs: deadline, prices, time limit, and what the run does besides."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mlperf.cli.framework.options import with_options
from mlperf.cli.framework.values import OLD_FILE, Duration, NumberRange
from mlperf.core.errors import DataError, UsageError

if TYPE_CHECKING:
    from mlperf.cli.framework.show import Show
    from mlperf.planning.whole_run.result import WholeRun
    from mlperf.specs import JobSpec, MachineSpec
    from mlperf.specs.prices import PriceSpec
    from mlperf.specs.run import RunSpec

LIMIT_PROBABILITY = 0.95
DRAWN_LEVEL = 0.95
"""Level of the interval that epochs are drawn from, whatever level is shown: chances and limits do not depend on what is shown."""

FRACTION = NumberRange(0.0, 1.0, min_open=True, max_open=True)
OPTIONS = (
    click.option("--deadline", type=Duration(), help="Whole run: the chance that it ends within so long, as in 12h."),
    click.option("--price", type=OLD_FILE, help="Whole run: TOML file with the prices of machines and energy."),
    click.option("--slurm", is_flag=True, help="Whole run: the #SBATCH --time line; with -q nothing else."),
    click.option("--probability", type=FRACTION, help=f"Of a run to end within the time limit.  [default: {LIMIT_PROBABILITY}]"),
    click.option("--run", "run_path", type=OLD_FILE, help="Whole run: TOML file with start-up, validation, checkpoints, failures."),
    click.option("--startup", type=Duration(), help="Whole run: time to the first step; overrides the file's, as do those below."),
    click.option("--validation", type=NumberRange(0.0, 1.0), help="Samples validated each epoch, as a fraction of the data set."),
    click.option("--checkpoint", type=Duration(), help="Time that one checkpoint stops the training."),
    click.option("--checkpoint-every", type=Duration("optimal"), help="Training time between checkpoints, or optimal."),
    click.option("--mtbf", type=Duration(), help="Mean time between failures of one node."),
)
FIELDS = {
    "startup": "startup_s",
    "validation": "validation_fraction",
    "checkpoint": "checkpoint_s",
    "checkpoint_every": "checkpoint_every_s",
    "mtbf": "node_mtbf_s",
}
"""Flag to field of `mlperf.specs.run.RunSpec`."""


@dataclass(frozen=True, slots=True)
class WholeRunAsked:
    """What the flags say of the whole run; ``given`` are fields of the run that they override, ``level`` is of what is shown."""

    deadline: float | None
    price: Path | None
    slurm: bool
    probability: float | None
    run_path: Path | None
    given: dict[str, Any]
    level: float = DRAWN_LEVEL

    def __bool__(self) -> bool:
        """Whether any flag asks for the whole run."""
        return (
            self.slurm
            or bool(self.given)
            or any(each is not None for each in (self.deadline, self.price, self.probability, self.run_path))
        )

    def of(self, prediction: Any, machine: MachineSpec, job: JobSpec, seed: int) -> WholeRun:
        """The whole runs of a prediction's configurations."""
        from mlperf.planning.whole_run.epoch_times import EpochTimes
        from mlperf.planning.whole_run.whole_run import WholeRunOptions, whole_run

        times = EpochTimes.of(prediction)
        if self.slurm and len(times.configs) > 1:
            hint = "Name one number of nodes, of GPUs and one sub-batch."
            raise UsageError(f"got --slurm with {len(times.configs)} configurations, expected one", hint=hint)
        options = WholeRunOptions(
            epochs=job.epochs,
            deadline_s=self.deadline,
            probability=LIMIT_PROBABILITY if self.probability is None else self.probability,
            level=self.level,
            seed=seed,
        )
        return whole_run(times, machine, self.run_of(job), self.prices_of(machine), options)

    def prices_of(self, machine: MachineSpec) -> PriceSpec | None:
        """What the file of ``--price`` says, which holds the machine's; None without one."""
        from mlperf.specs.network.fields import placed
        from mlperf.specs.prices import read_prices

        if self.price is None:
            return None
        prices = read_prices(self.price)
        try:
            prices.of(machine.name)
        except DataError as error:
            raise placed(error, str(self.price)) from None
        return prices

    def run_of(self, job: JobSpec) -> RunSpec:
        """The run of ``--run``, else of the job, with what the flags override."""
        from mlperf.specs.run import RunSpec, read_run

        run = read_run(self.run_path) if self.run_path is not None else job.run or RunSpec()
        return replace(run, **self.given)

    def show(self, result: WholeRun, show: Show, **told: Any) -> None:
        """Show the run; with ``--slurm -q`` the line for the batch script alone."""
        if self.slurm and show.settings.verbosity < 0 and not show.settings.as_json:
            click.echo(result.slurm_lines[0])
            return
        show(result, **told)


def whole_run_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a whole run; the function gets one ``whole``."""

    @functools.wraps(function)
    def command(*args: Any, **kwargs: Any) -> Any:
        given = {field: kwargs.pop(flag) for flag, field in FIELDS.items()}
        asked = {name: kwargs.pop(name) for name in ("deadline", "price", "slurm", "probability", "run_path")}
        whole = WholeRunAsked(**asked, given={field: value for field, value in given.items() if value is not None})
        if whole and "level" in kwargs:
            whole, kwargs["level"] = replace(whole, level=kwargs["level"]), DRAWN_LEVEL
        return function(*args, whole=whole, **kwargs)

    return with_options(*OPTIONS)(command)
