"""Make or judge the parameter-server runs of the protocol: ``python docs/make_parallel.py run FOLDER``, then ``judge FOLDER``.

``page FOLDER`` writes ``docs/reference/parallel_runs.md`` from the kept runs of all protocols: the first ones in ``FOLDER/servers``
and ``FOLDER/synchronous``, later ones in the same folders of ``FOLDER/second`` and ``FOLDER/third``.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.studies.parallel.judge import ParallelJudgement, judge_campaign
from mlperf.studies.parallel.protocol import read_protocol, run_campaign
from mlperf.studies.parallel.synchronous_judgement import SynchronousJudgement, judge_folder
from mlperf.studies.parallel.synchronous_judgement import read_protocol as read_synchronous

PROTOCOLS = Path(__file__).parents[1] / "tests" / "acceptance"
PROTOCOL = PROTOCOLS / "parallel_servers.toml"
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
SERVER_KEYS = ["cnn", "n_replicas", "n_servers", "plan", "exchange"]
STEP_KEYS = ["mode", "cnn", "n_nodes", "n_gpus_per_node", "subbatch_size"]
GROUP_COLUMNS = {
    "group": "left out",
    "n": "rows",
    "limit": "limit",
    "judged_mape": "mean error when judged",
    "judged_met": "met",
    "mape": "mean error today",
    "max_error": "largest today",
    "met": "met today",
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
    "judged_s": "predicted when judged, ms",
    "judged_error": "its error",
    "predicted_s": "predicted today, ms",
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
    if name.endswith(("error", "mape")) or name in ("whole_steps", "perfect_scaling", "constant_efficiency", "limit"):
        return f"{value:.1%}" if value == value else "-"
    return f"{1e3 * value:.3g}" if name in ("measured_ms", "judged_ms", "predicted_ms") else f"{value:.3g}"


def table(frame: pd.DataFrame, names: dict[str, str]) -> str:
    """A frame as Markdown."""
    kept = [name for name in names if name in frame]
    units = {name: name.replace("_s", "_ms") if names[name].endswith(", ms") else name for name in kept}
    head = " | ".join(names[name] for name in kept)
    cells = frame[kept].itertuples(index=False)
    rows = [" | ".join(cell(row[place], units[name]) for place, name in enumerate(kept)) for row in cells]
    return "\n".join([f"| {head} |", "|" + "---|" * len(kept), *(f"| {row} |" for row in rows)])


@dataclass(frozen=True)
class Campaign:
    """Runs of two protocols, and what is said of them.

    Attributes
    ----------
    name, folder, machine : str
        Which ones, where they lie, and what they were made on.
    since : str
        What was changed after they had been seen, a sentence; empty where nothing was.
    remark : str
        What is to be said of the runs of servers.
    suffix : str
        Of the protocols' names.
    """

    name: str
    folder: str
    machine: str
    since: str
    remark: str
    suffix: str

    @property
    def protocols(self) -> tuple[Path, Path]:
        """Of servers, of synchronous steps."""
        return PROTOCOLS / f"parallel_servers{self.suffix}.toml", PROTOCOLS / f"synchronous{self.suffix}.toml"

    def judged(self, home: Path) -> tuple[ParallelJudgement, SynchronousJudgement]:
        """Both judgements, by the predictor of today."""
        (servers, synchronous), folder = self.protocols, home / self.folder
        return (
            judge_campaign(read_protocol(servers), folder / "servers"),
            judge_folder(read_synchronous(synchronous), folder / "synchronous"),
        )

    def sections(self, home: Path) -> tuple[str, str]:
        """Every row, of servers and of synchronous steps, beside what was predicted on the day of the judgement."""
        servers, steps = self.judged(home)
        server_gates = servers.gates.astype({"least": float, "most": float})
        step_gates = steps.gates.rename(columns={"max": "max_error"})
        rows, predictions, folder = servers.rows, steps.predictions, home / self.folder
        if self.since:
            server_gates = beside(server_gates, folder / "servers" / "judged_gates.csv", ["gate"], {"value": "judged"})
            rows = with_error(beside(rows, folder / "servers" / "judged.csv", SERVER_KEYS))
            step_gates = beside(step_gates, folder / "synchronous" / "judged_gates.csv", ["group"], {"mape": "judged_mape"})
            predictions = with_error(beside(predictions, folder / "synchronous" / "judged.csv", STEP_KEYS))
        repeats = " ".join(filter(None, (f"Repeats differ by {servers.noise / 2:.1%}.", self.remark)))
        told = [
            self.told(repeats, table(server_gates, GATE_COLUMNS if self.since else JUDGED_COLUMNS), rows, SERVER_COLUMNS),
            self.told("", table(step_gates, self.names(GROUP_COLUMNS)), predictions, STEP_COLUMNS),
        ]
        heads = (f"Parameter servers, {self.name} runs", f"Synchronous data parallelism, {self.name} runs")
        return f"## {heads[0]}\n\n{told[0]}", f"## {heads[1]}\n\n{told[1]}"

    def told(self, first: str, gates: str, rows: pd.DataFrame, names: dict[str, str]) -> str:
        """Limits and rows behind a sentence."""
        said = " ".join(filter(None, (first, self.since)))
        return "\n\n".join(filter(None, (said, gates, table(rows, self.names(names)))))

    def names(self, names: dict[str, str]) -> dict[str, str]:
        """Columns; where nothing was changed there is no other day than today."""
        return names if self.since else {name: text.replace(" today", "") for name, text in names.items()}

    def missed(self, home: Path) -> str:
        """Names of the limits that are not kept by the predictor of today."""
        servers, steps = self.judged(home)
        names = [str(row.gate) for row in servers.gates.itertuples() if not row.met]
        return ", ".join([*names, *(f"synchronous, {row.group}" for row in steps.gates.itertuples() if not row.met)]) or "nothing"


def beside(found: pd.DataFrame, path: Path, keys: list[str], names: dict[str, str] | None = None) -> pd.DataFrame:
    """What was said on the day of the judgement, which is kept, beside what is said today."""
    kept = pd.read_csv(path).rename(columns={"met": "judged_met", **(names or {})})
    return found.merge(kept, on=keys, how="left", validate="one_to_one")


def with_error(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the error of what was predicted on the day of the judgement."""
    return rows.assign(judged_error=rows["judged_s"] / rows["measured_s"] - 1.0)


CAMPAIGNS = (
    Campaign(
        "third",
        "third",
        "an Intel Xeon",
        "",
        "Three pairs of digits-fc are in the wrong order, of five configurations that took 16.6 to 17.0 s: the one server is full "
        "in four of them, which are predicted within 0.1% of each other.",
        "_third",
    ),
    Campaign(
        "second",
        "second",
        "an Intel Xeon",
        "*When judged* is what was predicted when the runs were made. They showed that a server adds more slowly what its "
        "cache does not hold, that synchronous servers answer while others compute, and that ranks without a core of their "
        "own took turns in the isolated exchange, which was measured behind work that waiting ranks do not do. The first two "
        "are in what is said *today*; of the third only what an exchange takes longer within a step: isolated exchanges stay "
        "as they were measured.",
        "",
        "_second",
    ),
    Campaign(
        "first",
        "",
        "an AMD EPYC",
        "*When judged* is what was predicted when the runs were made, of servers by the trainer's own chain of messages. Since "
        "then closed forms of the values that a stripe receives took its place, and what the second runs showed.",
        "",
        "",
    ),
)


def page(home: Path) -> str:
    """All campaigns, every row."""
    sections = [each.sections(home) for each in CAMPAIGNS]
    rows = "\n".join(
        f"| {each.name} | {each.machine} | {', '.join(f'`{path.name}`' for path in each.protocols)} | {each.missed(home)} |"
        for each in CAMPAIGNS
    )
    mode = CAMPAIGNS[0].judged(home)[0].mode
    told = "\n\n".join(text for pair in sections for text in pair)
    return f"""# Parallel training runs of our own, predicted

`python docs/make_parallel.py page tests/reference/parallel` writes this page from runs that were made after their protocols (in
`tests/acceptance`) had been committed, on idle machines of two cores. A predictor that was changed is judged on new runs; older
tables stay.

| runs | machine | protocols | missed today |
|---|---|---|---|
{rows}

Parameter servers (KDD'15): a real trainer over MPI: A replicas, layers divided into stripes, copies and threads, S servers;
gradients are computed, compute and network are waited for ({mode}). The constants come from the trainer's innermost loops
measured alone (`mlperf collect canonical`), nothing is fitted to the runs; the network's speed is given. Predicted by
`mlperf train CONSTANTS --system model-parallel` and `mlperf predict MODEL --rows ps_runs.csv`: the equations that `mlperf optimize`
plans with. But for one worker and two that share every layer, configurations of the second and third were drawn by a seed.

Synchronous data parallelism: parts of steps on one and two processes are fitted; four processes, other sub-batches and one network
are not; the exchange is measured alone. Networks of the third were drawn by a seed. Beside: one model of whole steps, and two rules
of thumb.

{told}
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
