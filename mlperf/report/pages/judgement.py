"""A judgement as a page in Markdown: what was met and missed first, then every row, good or bad."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from mlperf.studies.judgement.plan import JudgementPlan
from mlperf.studies.judgement.result import Judgement
from mlperf.studies.trainer.predictions import MODEL, STEP_ALONE
from mlperf.studies.trainer.protocols import LEFT_OUT, NODES, ONE
from mlperf.studies.trainer.scores import EVERY, JUDGED

NAMES = {
    "gpu_iteration_s": "T_GPU",
    "update_iteration_s": "T_Update",
    "epoch_s": "T_Epoch",
    "mean_minibatch_size": "mean mini-batch",
}
SHOWN = (*JUDGED, "gpu_iteration_s")
HEADS = [NAMES[name] for name in SHOWN]
UNITS = {"gpu_iteration_s": (1e3, "ms"), "update_iteration_s": (1e3, "ms"), "epoch_s": (1.0, "s"), "mean_minibatch_size": (1.0, "")}
PAIR_HEADS = ["machine", "network", "faster", "slower", "measured difference, %", "said, %", "gradient / (M n b), %"]
SETTINGS_INTRODUCTION = "Measured, error in %; an asterisk where a run lies outside its interval."
SETTING = ["n_nodes", "n_gpus_per_node", "subbatch_size"]


def judgement_page(found: Judgement, plan: JudgementPlan) -> str:
    """The whole page, one newline at its end."""
    parts = [
        head_text(found, plan),
        gates_text(found),
        errors_text(found),
        intervals_text(found),
        windows_text(found),
        plan_text(found, plan),
        settings_text(found),
        one_text(found),
        runs_text(found),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def percent(value: float, digits: int = 2) -> str:
    """A fraction in percent without the sign; a dash where there is none."""
    return "-" if pd.isna(value) else f"{100 * value:.{digits}f}"


def setting(values: Sequence[Any]) -> str:
    """Nodes x GPUs of each, sub-batch."""
    return "{} x {}, {}".format(*values)


def head_text(found: Judgement, plan: JudgementPlan) -> str:
    """What was met and missed, in words."""
    gates = found.gates
    instead = gates[gates["instead"] != ""]
    lines = [f"**{len(found.missed)} of {len(gates)} limits are missed.**"]
    lines += [f"- missed: {row.gate}: {row.value:.4f}, asked {limit(row)}" for row in gates[~gates["met"]].itertuples()]
    lines += [f"- held by the other rule: {row.gate}: {row.value:.4f}; {row.instead}" for row in instead.itertuples()]
    regret, wrong = found.mean_regret, found.n_reversed
    lines += [
        "",
        f"Choices in windows: mean regret {percent(regret[MODEL])} %, {wrong[MODEL]} of {len(found.pairs)} pairs reversed;"
        f" gradient / (M n b): {percent(regret[STEP_ALONE])} %, {wrong[STEP_ALONE]} pairs. The predictor"
        f" {'has' if found.chooses_better else '**does not have**'} less regret and fewer reversed pairs.",
    ]
    verdict = "\n".join(lines)
    return f"""# The judgement of {plan.commit[:8]}

{verdict}

Made by `python docs/make_judgement.py page {plan.commit} FOLDER` from runs that [the protocol](../explanation/judgement.md) had
fixed before they were made: commit `{plan.commit}` drew networks, machines and order. Errors are relative, in percent where no
unit stands."""


def limit(row: Any) -> str:
    """Limits of a gate."""
    return f"{row.least:g} to {row.most:g}" if row.least else f"at most {row.most:g}"


def gates_text(found: Judgement) -> str:
    """Every limit."""
    gates = pd.concat([found.gates[~found.gates["met"]], found.gates[found.gates["met"]]])
    rows = [
        [str(row.gate), f"{row.value:.4f}", limit(row), str(row.instead) or ("yes" if row.met else "**no**")]
        for row in gates.itertuples()
    ]
    return f"""## What was asked

Missed ones first. Errors, coverages and regrets are fractions.

{table(["limit", "value", "asked", "met"], rows)}"""


def errors_text(found: Judgement) -> str:
    """Errors of every answer, beside the noise."""
    wide = found.errors.set_index(["protocol", "machine", "method", "quantity"])
    rows = [["**noise**", "", "", *(percent(found.noise[name]) for name in SHOWN)]]
    for (protocol, machine, method), part in wide.groupby(level=[0, 1, 2], sort=False):
        own = part.droplevel([0, 1, 2])
        cells = [
            f"{percent(own['error'][name])} / {percent(own['max_error'][name], 1)}" if name in own.index else "-" for name in SHOWN
        ]
        rows.append([str(protocol), str(machine), f"**{method}**" if method == MODEL else str(method), *cells])
    return f"""## Errors, beside the baselines and the noise

Mean / largest of one setting, %; networks weigh alike, of *one network* the median over the network fitted on. Noise is twice the
mean difference of two runs of a setting: no error below half of it is told from none.

{table(["split", "machine", "answer", *HEADS], rows)}"""


def intervals_text(found: Judgement) -> str:
    """Coverage and width."""
    judged = found.intervals[found.intervals["quantity"].isin(JUDGED)].set_index(["protocol", "machine", "nodes", "quantity"])
    rows = []
    for (protocol, machine, nodes), part in judged.groupby(level=[0, 1, 2], sort=False):
        own = part.droplevel([0, 1, 2])
        cells = [
            " / ".join(percent(own[column][name], 1) for column in ("coverage", "half_width", "mean_error")) for name in JUDGED
        ]
        rows.append([str(protocol), str(machine), str(nodes), str(int(own["n_runs"].iloc[0])), *cells])
    return f"""## Intervals

Share of runs inside the 95 % interval, every run by itself / mean half-width / mean error of the settings there, %.

{table(["split", "machine", "nodes", "runs", *(NAMES[name] for name in JUDGED)], rows)}"""


def windows_text(found: Judgement) -> str:
    """Regret, choices outside, and every reversed pair."""
    rows = []
    for (machine, cnn, method), part in found.windows.groupby(["machine", "cnn", "method"], sort=False):
        regret = f"{percent(part['regret'].mean())} / {percent(part['regret'].max())}"
        rows.append([str(machine), str(cnn), str(method), str(len(part)), regret, str(int(part["outside"].sum()))])
    for method, part in found.windows.groupby("method", sort=False):
        regret = f"{percent(part['regret'].mean())} / {percent(part['regret'].max())}"
        rows.append([EVERY, EVERY, f"**{method!s}**", str(len(part)), regret, str(int(part["outside"].sum()))])
    close = found.pairs[found.pairs["close"]]
    counts = [
        [name, *(f"{int((pairs[name] <= 0).sum())} of {len(pairs)}" for pairs in (found.pairs, close))]
        for name in (MODEL, STEP_ALONE)
    ]
    return f"""## Choices and order inside windows

Each measured mini-batch in turn is the centre of a window of 25 % to either side; windows that hold two settings or more count.
The predictor chooses among the settings whose predicted mini-batch lies there; gradient / (M n b), which says nothing of
mini-batches, is told which settings the window holds. Regret: mean / largest, %; outside: choices whose measured mini-batch lies
outside by more than the noise.

{table(["machine", "network", "answer", "windows", "regret", "outside"], rows)}

Reversed pairs: two settings that one window holds, measured further apart than the noise, told in the other order or as a tie;
close ones differ by less than 10 %.

{table(["answer", "reversed pairs", "of them close"], counts)}

{table(PAIR_HEADS, reversed_rows(found))}"""


def reversed_rows(found: Judgement) -> Iterator[list[str]]:
    """Every pair that the model or the gradient alone reverses, those of the model in bold."""
    for row in found.pairs.to_dict("records"):
        if row[MODEL] <= 0.0 or row[STEP_ALONE] <= 0.0:
            own = f"**{percent(row[MODEL])}**" if row[MODEL] <= 0.0 else percent(row[MODEL])
            ends = [setting(row["first"]), setting(row["second"])]
            yield [row["machine"], row["cnn"], *ends, percent(row["difference"]), own, percent(row[STEP_ALONE])]


def plan_text(found: Judgement, plan: JudgementPlan) -> str:
    """What was drawn."""
    rows = []
    for machine in plan.machines:
        here = found.runs[found.runs["machine"] == machine.exchange]
        repeats = here.groupby("cnn").size()
        twice = ", ".join(sorted(repeats.index[repeats == repeats.max()]))
        digest = found.sha256.get(machine.exchange, "")[:12]
        rows.append([machine.exchange, f"{machine.bytes_per_s:g}", f"{machine.latency_s:g}", twice, str(len(here)), digest])
    return f"""## What was drawn

Networks: {", ".join(plan.cnns)}.

{table(["machine", "bytes/s", "latency, s", "run twice", "runs", "digest of the campaign"], rows)}"""


def settings_text(found: Judgement) -> str:
    """Every setting of the splits that ask about one network, or about more nodes."""
    parts = []
    for protocol in (LEFT_OUT, NODES):
        own = found.rows[(found.rows["protocol"] == protocol) & (found.rows["method"] == MODEL)]
        keys = ["machine", "cnn", *SETTING]
        rows = []
        for key, part in own.groupby(keys, sort=True):
            by_name = part.set_index("quantity")
            cells = [setting_cell(by_name, name) for name in SHOWN]
            rows.append([str(key[0]), str(key[1]), setting(tuple(key)[2:]), *cells])
        heads = [f"{NAMES[name]}{', ' * bool(UNITS[name][1])}{UNITS[name][1]}" for name in SHOWN]
        parts.append(f"### {protocol.capitalize()}\n\n{table(['machine', 'network', 'setting', *heads], rows)}")
    return "\n\n".join(["## Every setting", SETTINGS_INTRODUCTION, *parts])


def setting_cell(rows: pd.DataFrame, name: str) -> str:
    """Measured value, signed error, and a mark for runs outside the interval; ``rows`` are by quantity."""
    measured, error, inside = (rows[column][name] for column in ("measured", "relative_error", "inside"))
    return f"{UNITS[name][0] * measured:.4g}, {100 * error:+.2f}{'*' * int(inside < 1.0)}"


def one_text(found: Judgement) -> str:
    """Every setting from every one network."""
    own = found.rows[(found.rows["protocol"] == ONE) & (found.rows["method"] == MODEL) & found.rows["quantity"].isin(JUDGED)]
    wide = own.pivot(index=["machine", "cnn", *SETTING], columns=["trained_on", "quantity"], values="relative_error").sort_index()
    names = sorted(own["trained_on"].unique())
    rows = [
        [str(key[0]), str(key[1]), setting(tuple(key)[2:]), *(one_cell(row, name) for name in names)]
        for key, row in zip(wide.index, wide.to_dict("records"), strict=True)
    ]
    return f"""### One network

Columns name the network fitted on; errors of T_Epoch / T_Update / mean mini-batch, %.

{table(["machine", "network", "setting", *names], rows)}"""


def one_cell(row: dict[Any, float], name: str) -> str:
    """Errors of the three quantities; empty for the network itself."""
    errors = [row[name, quantity] for quantity in JUDGED]
    return "" if pd.isna(errors[0]) else " / ".join(f"{100 * error:+.1f}" for error in errors)


def runs_text(found: Judgement) -> str:
    """Every run with its load and overshoot."""
    keys = ["machine", "cnn", *SETTING, "run"]
    rows = []
    for row in found.runs.sort_values(keys).to_dict("records"):
        measured = [f"{UNITS[name][0] * row[name]:.5g}" for name in SHOWN]
        quality = [f"{row['load']:.2f}", percent(row["overshoot_mean_share"], 1)]
        rows.append([row["machine"], row["cnn"], setting([row[name] for name in SETTING]), str(row["run"]), *measured, *quality])
    heads = [f"{NAMES[name]}{', ' * bool(UNITS[name][1])}{UNITS[name][1]}" for name in SHOWN]
    return f"""## Every run

Load of the machine, and how much longer waits were than asked for, mean over the shortest wait.

{table(["machine", "network", "setting", "run", *heads, "load", "overshoot, %"], rows)}"""
