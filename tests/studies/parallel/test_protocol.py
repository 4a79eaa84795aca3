"""The protocol of the acceptance runs is complete and can be run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mlperf.collect.canonical import cases, measure
from mlperf.collect.servers.configuration import check_configuration
from mlperf.collect.servers.net import net_of
from mlperf.collect.servers.request import check_request
from mlperf.core.errors import DataError
from mlperf.studies.parallel.judge import judge_campaign
from mlperf.studies.parallel.protocol import read_protocol, run_campaign

PROTOCOL = Path(__file__).parents[2] / "acceptance" / "parallel_servers.toml"


def test_it_asks_for_at_least_twenty_configurations_that_can_run() -> None:
    protocol = read_protocol(PROTOCOL)
    request = protocol.servers(Path())
    check_request(request)
    assert len(request.configurations) >= 20
    assert request.mode == "emulated compute+network x100"
    assert {each.exchange for each in request.configurations} == {"asynchronous", "synchronous"}
    assert {each.n_threads for one in request.configurations for each in one.plan} == {1, 2}
    for configuration in request.configurations:
        check_configuration(configuration, net_of(request.cnns[configuration.cnn]), 2, emulated=True)
    assert protocol.limits["each"] <= 0.25
    assert protocol.canonical(Path()).code == request.code


def test_an_incomplete_protocol_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "protocol.toml"
    path.write_text(PROTOCOL.read_text(encoding="utf-8").replace("regret = 0.05\n", ""), encoding="utf-8")
    with pytest.raises(DataError, match=r"limits: got the keys .*expected .*regret"):
        read_protocol(path)


@pytest.mark.slow
def test_constants_and_runs_are_made_and_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mpi4py")
    # The largest segments are some caches' sizes: minutes on a machine whose last cache is large.
    for module in (cases, measure):
        monkeypatch.setattr(module, "cache_bytes", lambda: {"L2": 2**20})
    protocol = read_protocol(PROTOCOL)
    short = replace(
        protocol,
        constants={"code": "blas", "rounds": 1, "seed": 0},
        runs={**protocol.runs, "repeats": 1, "minibatches": 3, "epochs": 0, "time_scale": 30.0},
        configurations=(protocol.configurations[0], protocol.configurations[2]),
    )
    assert len(run_campaign(short, tmp_path).runs) == 2
    found = judge_campaign(short, tmp_path)
    assert found.mode == "emulated compute+network x30"
    assert len(found.rows) == 2
    assert (found.rows["error"].abs() < 2.0).all()
