"""Runs go through their file."""

from __future__ import annotations

from pathlib import Path

from mlperf.collect.servers.configuration import configuration_from
from mlperf.collect.servers.job import Run, read_job, write_job
from mlperf.collect.servers.net import shipped_nets
from mlperf.specs.network.cnn_toml import cnn_to_dict


def test_what_is_written_is_read(tmp_path: Path) -> None:
    cnn = shipped_nets()["digits-conv"]
    configuration = configuration_from({"cnn": cnn.name, "plan": "/".join(["1x1x1"] * 5)})
    run = Run(
        3, configuration, cnn_to_dict(cnn), 4, 0.1, 5, "blas", {"0 forward": (0.1, 0.2), "add": (1e-9,)}, (1e-3, 0.0, 1e-9), 9.0
    )
    write_job((run,), tmp_path)
    found = read_job(tmp_path)[0]
    assert (found.configuration, found.waits, found.link, found.network) == (run.configuration, run.waits, run.link, cnn)
    assert found.stem == "run-0003"
