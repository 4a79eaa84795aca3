"""``mlperf search``: the fastest configuration whose mean mini-batch size fits a window."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mlperf.cli.commands.predict import METHODS
from mlperf.cli.framework.options import (
    exchange_option,
    minibatch_option,
    models_argument,
    output_options,
    plot_option,
    seed_option,
    settings_option,
    strict_option,
    system_option,
)
from mlperf.cli.framework.request import Request, machines_request_options
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.systems import SPRINT, Settings, read_exchange, refuse_of_sprint, refuse_of_systems
from mlperf.cli.framework.values import OLD_FILE, Factors, NumberRange, Words
from mlperf.core.errors import UsageError

if TYPE_CHECKING:
    from mlperf.specs import MachineSpec

OBJECTIVES = ("epoch_s", "cost", "energy_j", "time_to_target")
FRACTION = NumberRange(0.0, 1.0, min_open=True, max_open=True)


@click.command(
    epilog="""\b
Examples:
  mlperf search model.json --cnn vgg16 --machine kfc --dataset-size 1281167 --minibatch 103.5:172.5
  mlperf search model.json --cnn mine.toml --machine cluster.toml --job imagenet.toml --gpus-per-node 1:2 --plot map.svg
  mlperf search model.json --cnn vgg16 --machine kfc --dataset-size 1281167 --minibatch :256 --window-quantile 0.9
  mlperf search model.json --cnn vgg16 --machine kfc --dataset-size 1281167 --max-staleness 3
  mlperf search model.json --cnn mine.toml --machine kfc --dataset-size 1500 --objective time_to_target --quality quality.json
  mlperf search a.json b.json --machine kfc --machine tsubame2 --cnn vgg16 --dataset-size 1281167 --minibatch 103.5:172.5
"""
)
@models_argument
@system_option
@settings_option
@exchange_option
@machines_request_options
@minibatch_option
@click.option("--window-quantile", type=FRACTION, help="The window bounds this quantile of the mini-batch size, not its mean.")
@click.option("--max-staleness", type=NumberRange(min=0.0), help="Largest mean staleness, updates.")
@click.option(
    "--min-probability",
    type=NumberRange(0.0, 1.0),
    default=0.0,
    help="Rank only rows whose windows hold with this probability, given the models' uncertainty.",
)
@click.option("--objective", type=Words(OBJECTIVES), default="epoch_s", help="What to minimise.")
@click.option("--quality", type=OLD_FILE, help="Epochs to a target accuracy: what mlperf train --target-accuracy wrote.")
@click.option("--top", type=click.IntRange(min=1), default=10, help="Rows of the ranking.")
@click.option("--method", type=Words(METHODS), default="learnt", help="How kernel times are predicted.")
@click.option("--what-if", "factors", type=Factors(), multiple=True, help="Scale a component or wait; may be repeated.")
@click.option("--ignore-memory", is_flag=True, help="Rank configurations that do not fit the device, too.")
@strict_option
@seed_option
@plot_option
@output_options
def search(
    model_paths: tuple[Path, ...],
    system: str | None,
    settings: Settings,
    exchange_path: Path | None,
    request: Request,
    machines: tuple[MachineSpec, ...],
    quality: Path | None,
    factors: tuple[tuple[str, float], ...],
    seed: int,
    show: Show,
    **options: Any,
) -> int:
    """Rank nodes x GPUs x sub-batch where the mini-batch size fits a window, on one or several machines; exit 1 where none does."""
    import mlperf
    from mlperf.studies.model_files import model_for

    # Models of another kind tell who takes them, whatever else is missing.
    models = {path: mlperf.load_model(path, "system") for path in dict.fromkeys(model_paths)}
    cnns = request.needed_cnns()
    if len(cnns) > 1:
        raise UsageError(f"got {len(cnns)} CNNs, expected one", hint="Search them one by one.")
    request.needed_machine()
    paths = paired(model_paths or tuple(Path(model_for(machine, cnns)) for machine in machines), machines)
    models = models or {path: mlperf.load_model(path, "system") for path in dict.fromkeys(paths)}
    options |= {
        **request.sizes,
        "quality": None if quality is None else mlperf.load_model(quality, "mlperf-quality"),
        "factors": dict(factors),
        "seed": seed,
    }
    job = request.needed_job()
    if system not in (None, SPRINT):
        options["exchange"] = read_exchange(exchange_path)
        result = of_system(models[paths[0]], str(system), cnns[0], machines, job, dict(settings), options)
    else:
        refuse_of_systems(settings, exchange_path)
        result = of_sprint(models, paths, cnns[0], machines, job, options)
    show(result, data_sha256=read_of(models), seed=seed)
    return 0 if len(result.best) else 1


def of_system(
    model: Any,
    system: str,
    cnn: Any,
    machines: tuple[MachineSpec, ...],
    job: Any,
    settings: dict[str, Any],
    options: dict[str, Any],
) -> Any:
    """The search of another system than SPRINT, on one machine."""
    import mlperf

    refused = {f"--{name.replace('_', '-')}": options.pop(name) for name in ("quality", "window_quantile", "min_probability")}
    refuse_of_sprint(refused, system)
    if len(machines) > 1:
        raise UsageError(f"got {len(machines)} machines with --system {system}, expected one", hint="Search them one by one.")
    return mlperf.search_system(model, system, cnn, machines[0], job, settings=settings, **options)


def of_sprint(
    models: dict[Path, Any], paths: tuple[Path, ...], cnn: Any, machines: tuple[MachineSpec, ...], job: Any, options: dict[str, Any]
) -> Any:
    """The search of SPRINT, on one machine or several."""
    import mlperf

    if len(machines) == 1:
        return mlperf.search_runs(models[paths[0]], cnn, machines[0], job, **options)
    pairs = [(models[path], machine) for path, machine in zip(paths, machines, strict=True)]
    return mlperf.search_machines(pairs, cnn, job, **options)


def paired(model_paths: tuple[Path, ...], machines: tuple[MachineSpec, ...]) -> tuple[Path, ...]:
    """One model a machine; a single model serves every machine."""
    if len(model_paths) == 1:
        return model_paths * len(machines)
    if len(model_paths) != len(machines):
        got = f"got {len(model_paths)} models and {len(machines)} machines"
        raise UsageError(
            f"{got}, expected one --machine for each MODEL", hint="The first model is of the first machine, and so on."
        )
    return model_paths


def read_of(models: dict[Path, Any]) -> dict[str, str]:
    """What every model was trained on; names are distinguished by the model's file where there are several."""
    if len(models) == 1:
        return dict(next(iter(models.values())).provenance["data_sha256"])
    found: dict[str, str] = {}
    for path, model in models.items():
        found |= {f"{path.name}: {name}": digest for name, digest in model.provenance["data_sha256"].items()}
    return found
