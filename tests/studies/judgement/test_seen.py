"""What the predictor sees of a campaign of kernels, and what is fitted on."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mlperf.datasets import read_campaign
from mlperf.datasets.campaigns.trainer_runs import TrainerRuns
from mlperf.studies.judgement.seen import judged_splits, kernels_without
from mlperf.studies.trainer.protocols import LEFT_OUT, NODES, ONE


def test_kernels_are_those_of_other_networks_three_times_as_long_and_nothing_else(small_campaign: Path) -> None:
    whole = read_campaign(small_campaign)
    seen = kernels_without(whole, "cnn03", 3.0)
    assert set(seen.tables) == {"sgemm", "kernels", "steps"}
    assert "cnn03" not in seen.cnns
    for name in ("kernels", "steps"):
        table, given = seen.table(name), whole.table(name)
        kept = given[given["cnn"] != "cnn03"].reset_index(drop=True)
        assert 0 < len(kept) < len(given)
        seconds = [column for column in table if str(column).endswith("_s")]
        pd.testing.assert_frame_equal(table[seconds], 3.0 * kept[seconds])
        pd.testing.assert_frame_equal(table.drop(columns=seconds), kept.drop(columns=seconds))


def test_every_split_of_the_protocol_is_there(judged_runs: TrainerRuns) -> None:
    found = list(judged_splits(judged_runs.table))
    counts = pd.Series([split.protocol for split in found]).value_counts().to_dict()
    assert counts == {LEFT_OUT: 18, NODES: 3, ONE: 18}
    for split in found:
        assert set(split.train["machine"]) == set(split.test["machine"]) == {split.machine}
    (more,) = (split for split in found if (split.protocol, split.machine) == (NODES, "ring"))
    assert (set(more.train["n_nodes"]), set(more.test["n_nodes"])) == ({1, 2}, {4})
    assert set(more.train["cnn"]) == set(more.test["cnn"]) == set(judged_runs.cnns)
