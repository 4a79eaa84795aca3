"""Make or judge the parameter-server runs of the protocol: ``python docs/make_parallel.py run FOLDER``, then ``judge FOLDER``.

``page FOLDER`` writes ``docs/reference/parallel_runs.md`` from the kept runs of all protocols: those of parameter servers in
``FOLDER/servers``, the synchronous ones in ``FOLDER/synchronous``, the second ones in ``FOLDER/second``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.studies.parallel.judge import ParallelJudgement, judge_campaign
from mlperf.studies.parallel.protocol import read_protocol, run_campaign
from mlperf.studies.parallel.synchronous_judgement import SynchronousJudgement, judge_folder
from mlperf.studies.parallel.synchronous_judgement import read_protocol as read_synchronous

PROTOCOL = Path(__file__).parents[1] / "tests" / "acceptance" / "parallel_servers.toml"
FIRST = (PROTOCOL, PROTOCOL.with_name("synchronous.toml"))
SECOND = (PROTOCOL.with_name("parallel_servers_second.toml"), PROTOCOL.with_name("synchronous_second.toml"))
PAGE = Path(__file__).parent / "reference" / "parallel_runs.md"
SERVER_COLUMNS = {
    "cnn": "network",
    "n_replicas": "A",
    "n_servers": "S",
    "plan": "stripes x copies x threads by layer",
    "exchange": "exchange",
    "measured_s": "measured, s",
    "judged_s": "predicted when judged, s",
    "judged_error": "its error",
    "model_s": "predicted today, s",
    "error": "error",
    "perfect_s": "perfect scaling, s",
    "efficiency_s": "constant efficiency, s",
    "staleness": "staleness",
    "staleness_told": "told",
    "test_accuracy": "accuracy",
}
JUDGED_COLUMNS = {"gate": "asked", "least": "at least", "most": "at most", "value": "reached", "met": "met"}
GATE_COLUMNS = {
    "gate": "asked",
    "least": "at least",
    "most": "at most",
    "judged": "when judged",
    "judged_met": "met",
    "value": "today",
    "met": "met today",
}
KEYS = ["cnn", "n_replicas", "n_servers", "plan", "exchange"]
GROUP_COLUMNS = {
    "group": "left out",
    "n": "rows",
    "mape": "mean error",
    "max_error": "largest",
    "limit": "limit",
    "met": "met",
    "whole_steps": "whole steps",
    "perfect_scaling": "perfect scaling",
    "constant_efficiency": "constant efficiency",
}
STEP_COLUMNS = {
    "mode": "mode",
    "cnn": "network",
    "n_gpus_per_node": "processes",
    "subbatch_size": "sub-batch",
    "group": "group",
    "measured_s": "measured, ms",
    "predicted_s": "predicted, ms",
    "error": "error",
    "whole_steps": "whole steps",
    "perfect_scaling": "perfect scaling",
    "constant_efficiency": "constant efficiency",
}


def cell(value: object, name: str) -> str:
    """A cell of a table: errors in per cent, times with three digits."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "**no**"
    if not isinstance(value, float):
        return str(value)
    if name.endswith("error") or name in ("mape", "whole_steps", "perfect_scaling", "constant_efficiency", "limit"):
        return f"{value:.1%}" if value == value else "-"
    return f"{1e3 * value:.3g}" if name in ("measured_ms", "predicted_ms") else f"{value:.3g}"


def table(frame: pd.DataFrame, names: dict[str, str]) -> str:
    """A frame as Markdown."""
    kept = [name for name in names if name in frame]
    units = {name: name.replace("_s", "_ms") if names[name].endswith(", ms") else name for name in kept}
    head = " | ".join(names[name] for name in kept)
    cells = frame[kept].itertuples(index=False)
    rows = [" | ".join(cell(row[place], units[name]) for place, name in enumerate(kept)) for row in cells]
    return "\n".join([f"| {head} |", "|" + "---|" * len(kept), *(f"| {row} |" for row in rows)])


def beside_judged(folder: Path, servers: ParallelJudgement) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Gates and rows of today beside those of the day of the judgement, which are kept."""
    old, gates = pd.read_csv(folder / "judged.csv"), pd.read_csv(folder / "judged_gates.csv")
    rows = servers.rows.merge(old, on=KEYS, how="left", validate="one_to_one")
    rows = rows.assign(judged_error=rows["judged_s"] / rows["measured_s"] - 1.0)
    kept = gates.rename(columns={"value": "judged", "met": "judged_met"})
    found = servers.gates.assign(least=servers.gates["least"].astype(float), most=servers.gates["most"].astype(float))
    return found.merge(kept, on="gate", how="left", validate="one_to_one"), rows


def missed(servers: ParallelJudgement, steps: SynchronousJudgement) -> str:
    """Names of the limits that are not kept."""
    names = [str(row.gate) for row in servers.gates.itertuples() if not row.met]
    return ", ".join([*names, *(f"synchronous, {row.group}" for row in steps.gates.itertuples() if not row.met)]) or "nothing"


def judged(folder: Path, protocols: tuple[Path, Path]) -> tuple[ParallelJudgement, SynchronousJudgement]:
    """Both judgements of the runs in ``folder/servers`` and ``folder/synchronous``."""
    servers, synchronous = protocols
    return (
        judge_campaign(read_protocol(servers), folder / "servers"),
        judge_folder(read_synchronous(synchronous), folder / "synchronous"),
    )


def page(folder: Path) -> str:
    """Both campaigns, every row."""
    first, again = judged(folder, FIRST), judged(folder / "second", SECOND)
    gates, rows = beside_judged(folder / "servers", first[0])
    return f"""# Parallel training runs of our own, predicted

`python docs/make_parallel.py page tests/reference/parallel` writes this page from runs that were made after their protocols had
been committed, on idle machines of two cores: the second ones on an Intel Xeon
(`tests/acceptance/parallel_servers_second.toml`, `tests/acceptance/synchronous_second.toml`), the first on an AMD EPYC
(`tests/acceptance/parallel_servers.toml`, `tests/acceptance/synchronous.toml`).

Missed by the second: {missed(*again)}. By the first: {missed(*first)}.

Parameter servers (KDD'15): a real trainer over MPI: A replicas, layers divided into stripes, copies and threads, S servers;
gradients are computed, compute and network are waited for ({first[0].mode}). The constants come from the trainer's innermost loops
measured alone (`mlperf collect canonical`), nothing is fitted to the runs; the network's speed is given. Predicted by
`mlperf train CONSTANTS --system model-parallel` and `mlperf predict MODEL --rows ps_runs.csv`: the equations that `mlperf optimize`
plans with.

Synchronous data parallelism: parts of steps on one and two processes are fitted; four processes, other sub-batches and one network
are not; the exchange is measured alone. Beside: one model of whole steps, and two rules of thumb.

## Parameter servers, second runs

But for one worker and two that share every layer, configurations were drawn by a seed. Repeats differ by {again[0].noise / 2:.1%}.

{table(again[0].gates.astype({"least": float, "most": float}), JUDGED_COLUMNS)}

{table(again[0].rows, {name: text.removesuffix(" today, s") for name, text in SERVER_COLUMNS.items()})}

## Synchronous data parallelism, second runs

{table(again[1].gates.rename(columns={"max": "max_error"}), GROUP_COLUMNS)}

{table(again[1].predictions, STEP_COLUMNS)}

## Parameter servers, first runs

Repeats differ by {first[0].noise / 2:.1%}. The verdict is the one under *when judged*: what was predicted when the runs were made,
by the trainer's own chain of messages. *Today* is what the two commands say of the same runs: their equations were joined after
these runs had been seen and differ where layers are divided (values a stripe receives in closed form, the weights that its backward
pass reads).

{table(gates, GATE_COLUMNS)}

{table(rows, SERVER_COLUMNS)}

## Synchronous data parallelism, first runs

{table(first[1].gates.rename(columns={"max": "max_error"}), GROUP_COLUMNS)}

{table(first[1].predictions, STEP_COLUMNS)}
"""


def main() -> None:
    """Carry out the protocol, or print what it found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "judge", "page"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--protocol", type=Path, default=PROTOCOL)
    given = parser.parse_args()
    if given.what == "page":
        PAGE.write_text(page(given.folder), encoding="utf-8")
        return
    protocol = read_protocol(given.protocol)
    if given.what == "run":
        print(run_campaign(protocol, given.folder, show_progress=True))
        return
    found = judge_campaign(protocol, given.folder)
    with pd.option_context("display.max_columns", 30, "display.width", 220, "display.max_rows", 99, "display.precision", 3):
        print(found.rows.drop(columns=["n_workers", "minibatch_size", "samples_per_s", "period_s"]))
        print(found.gates)
    print(f"noise {found.noise:.3f}, {found.mode}")


if __name__ == "__main__":
    main()
