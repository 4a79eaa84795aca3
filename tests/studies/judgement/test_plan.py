"""The plan is what the page says, follows from the hash alone, and its commands are ours."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from mlperf.cli.commands.asgd import asgd
from mlperf.collect.trainer.network import EXCHANGES
from mlperf.collect.trainer.rounds import grid_of
from mlperf.core.errors import UsageError
from mlperf.datasets import Campaign, read_campaign
from mlperf.studies.judgement import JudgementPlan, plan_judgement
from mlperf.studies.judgement.plan import (
    BYTES_PER_S,
    LATENCY_S,
    LEAST_UPDATES,
    ROUNDS_FROM,
    SEEN,
    SETTINGS,
    candidates,
    draw_in_parts,
    iterations_s,
    mean_rounds_s,
)

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[3] / "docs" / "explanation" / "judgement.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def plan(judgement_plan: JudgementPlan) -> JudgementPlan:
    return judgement_plan


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    return read_campaign("cpu-epyc")


def test_the_page_names_the_networks_and_the_settings(campaign: Campaign) -> None:
    names = candidates(campaign)
    assert ", ".join(names) in PAGE
    assert not set(names) & set(SEEN)
    listed = [tuple(map(int, found)) for found in re.findall(r"(\d) x (\d), (\d)(?=[;.])", PAGE)]
    assert tuple(listed) == SETTINGS


def test_no_earlier_campaign_used_a_network_that_may_be_drawn() -> None:
    earlier = ("asgd-emulated", "asgd-memory", "asgd-networks", "asgd-slow-network")
    assert sorted({name for campaign in earlier for name in read_campaign(campaign).cnns}) == sorted(SEEN)


def test_a_campaigns_rounds_are_put_in_order_once(campaign: Campaign) -> None:
    first = grid_of(campaign, "add_momentum", ("n_params",))
    assert grid_of(campaign, "add_momentum", ("n_params",)) is first
    assert not grid_of(campaign, "update_weights", ("n_params",)).equals(first)


def test_the_hash_decides_everything(plan: JudgementPlan, campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlperf.studies.judgement.plan.read_campaign", {ROUNDS_FROM: campaign}.__getitem__)
    again, other = plan_judgement(plan.commit), plan_judgement(plan.commit[::-1])
    assert again.runs == plan.runs
    assert (other.machines, list(other.cnns)) != (plan.machines, list(plan.cnns))
    with pytest.raises(UsageError, match="whole hash"):
        plan_judgement("0123456")


def test_every_setting_is_run_on_every_machine_and_three_networks_twice(plan: JudgementPlan) -> None:
    """3 machines x 9 settings x (6 networks + 1 again) = 189."""
    rows = Counter((run.machine, run.cnn, run.n_nodes, run.n_gpus_per_node, run.subbatch_size) for run in plan.runs)
    assert len(plan.runs) == 189
    assert len(rows) == 3 * 9 * 6
    twice = {(machine, cnn) for (machine, cnn, *_), number in rows.items() if number == 2}
    assert len(twice) == len({cnn for _, cnn in twice}) == 3
    assert all(rows[machine, cnn, *setting] == 2 for machine, cnn in twice for setting in SETTINGS)
    assert [machine.exchange for machine in plan.machines] == list(EXCHANGES)


def test_a_setting_is_run_again_after_it_was_run(plan: JudgementPlan) -> None:
    """`--repeats 2` makes the second run only where the first is there."""
    seen: Counter[tuple[object, ...]] = Counter()
    for run in plan.runs:
        key = run.machine, run.cnn, run.n_nodes, run.n_gpus_per_node
        seen[key] += 1
        assert run.repeat == seen[key]


@pytest.mark.parametrize("bounds", [BYTES_PER_S, LATENCY_S])
def test_one_number_lies_in_each_part(bounds: tuple[float, float]) -> None:
    edges = np.geomspace(*bounds, 4)
    for seed in range(20):
        drawn = sorted(draw_in_parts(np.random.default_rng(seed), bounds, 3))
        assert all(low * 0.995 <= each <= high * 1.005 for each, low, high in zip(drawn, edges[:-1], edges[1:], strict=True))


def test_the_wait_is_shared_out(plan: JudgementPlan, campaign: Campaign) -> None:
    """10 minutes, or more where runs of 40 updates are longer than their share; no run is a tenth of it."""
    mean_s = cache(lambda name, n_nodes, subbatch_size: mean_rounds_s(campaign, plan.cnns[name], n_nodes, subbatch_size))
    waits_s = []
    for run in plan.runs:
        setting = run.n_nodes, run.n_gpus_per_node, run.subbatch_size
        waits_s.append(run.n_updates * iterations_s(mean_s(run.cnn, *setting[::2]), plan.cnns[run.cnn], run.network, setting)[1])
        assert run.n_updates >= LEAST_UPDATES
    assert 590 <= sum(waits_s) <= 1000
    assert max(waits_s) < 60


def test_the_commands_are_ours(plan: JudgementPlan, tmp_path: Path) -> None:
    """What a command means is what the run says, word by word."""
    run = next(run for run in plan.runs if run.repeat == 2)
    words = run.command(tmp_path, plan.seed)
    cnn = tmp_path / "networks" / f"{run.cnn}.toml"
    cnn.parent.mkdir()
    cnn.write_text("", encoding="utf-8")
    assert words[:4] == ["mlperf", "collect", "asgd", "--"]
    given = asgd.make_context("asgd", words[4:]).params
    expected = {
        "out": tmp_path / run.machine,
        "cnn_named": cnn,
        "waits": ("gradient", "memory", "network"),
        "exchange": run.network.exchange,
        "bytes_per_s": run.network.bytes_per_s,
        "latency_s": run.network.latency_s,
        "n_nodes": (run.n_nodes,),
        "n_gpus_per_node": (run.n_gpus_per_node,),
        "subbatch_sizes": (run.subbatch_size,),
        "max_updates": run.n_updates,
        "repeats": 2,
        "time_scale": 3.0,
        "seed": 0x01234567,
        "rounds_from": "cpu-epyc",
        "dataset_size": 1_281_167,
    }
    assert {name: given[name] for name in expected} == expected
