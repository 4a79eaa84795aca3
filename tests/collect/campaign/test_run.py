"""A tiny campaign from start to end: tables, sums, interrupt, resume, refusals, budget."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mlperf.collect.backends.backends import numpy_backend
from mlperf.collect.campaign import run as run_module
from mlperf.collect.campaign.run import CollectRequest, collect
from mlperf.collect.protocol.host import check_same
from mlperf.collect.protocol.protocol import Campaign, Visit, run_plans
from mlperf.core.errors import InterruptedRun, MissingExtraError, UsageError
from mlperf.core.progress import Silent
from mlperf.datasets import read_campaign
from mlperf.specs import CnnSpec, kernel_calls, library_calls

pytestmark = pytest.mark.slow

CNNS = (
    CnnSpec.from_sprint("small", 14, (3, 4, 5, 6, 7), (2,), 3),
    CnnSpec.from_sprint("large", 26, (3, 16, 16, 5, 9), (1, 2), 4),
)
SIZES = (1, 3)


def request(folder: Path, **changes: Any) -> CollectRequest:
    return CollectRequest(
        **({"kinds": ("kernels", "steps"), "out": folder, "cnns": CNNS, "subbatch_sizes": SIZES, "rounds": 2} | changes)
    )


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("campaign")
    collect(request(folder, rounds=4))
    return folder


@pytest.fixture(scope="module")
def measured_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign of one round, for those who go on with a copy of it."""
    folder = tmp_path_factory.mktemp("measured-once")
    collect(request(folder, rounds=1))
    return folder


@pytest.fixture
def begun(measured_once: Path, tmp_path: Path) -> Path:
    """A folder of one's own with a finished round."""
    return Path(shutil.copytree(measured_once, tmp_path / "begun"))


def test_tables_satisfy_the_data_dictionary(campaign: Path) -> None:
    found = read_campaign(campaign)
    assert set(found.cnns) == {"small", "large"}
    assert len(found.steps) == len(CNNS) * len(SIZES) * 4
    assert len(found.kernels) == 4 * sum(len(kernel_calls(cnn, size)) for cnn in CNNS for size in SIZES)


def test_every_configuration_is_visited_once_a_round(campaign: Path) -> None:
    steps = read_campaign(campaign).steps
    assert (steps.groupby(["cnn", "subbatch_size", "round"]).size() == 1).all()
    assert sorted(steps["sequence"]) == list(range(len(steps)))


def test_order_is_drawn_anew_in_each_round(campaign: Path) -> None:
    steps = read_campaign(campaign).steps.sort_values("sequence")
    orders = {tuple(zip(part["cnn"], part["subbatch_size"], strict=True)) for _, part in steps.groupby("round")}
    assert len(orders) > 1


def test_kernels_add_up_to_the_step(campaign: Path) -> None:
    """Timers cost a few per cent of a step of a millisecond; a kernel missed or counted twice would cost more than a third."""
    found, keys = read_campaign(campaign), ["cnn", "subbatch_size", "round"]
    sums = found.kernels.groupby(keys)["cpu_s"].sum()
    wholes = found.steps.set_index(keys)["step_s"]
    assert 0.7 < float((sums / wholes).median()) < 1.4


def test_torch_layers_fill_the_same_tables(tmp_path: Path) -> None:
    """The chain of calls adds up to the step by autograd within what timers and autograd's own bookkeeping cost."""
    pytest.importorskip("torch", reason="torch is not installed")
    collect(request(tmp_path, backend="torch"))
    found, keys = read_campaign(tmp_path), ["cnn", "subbatch_size", "round"]
    assert set(found.steps["backend"]) == set(found.kernels["backend"]) == {"torch"}
    assert len(found.kernels) == 2 * sum(len(library_calls(cnn, size)) for cnn in CNNS for size in SIZES)
    ratios = found.kernels.groupby(keys)["cpu_s"].sum() / found.steps.set_index(keys)["step_s"]
    assert 0.3 < float(ratios.median()) < 1.5
    collect(request(tmp_path, backend="numpy"))
    assert set(read_campaign(tmp_path).steps["backend"]) == {"numpy", "torch"}


def test_products_of_two_backends_do_not_share_a_table(tmp_path: Path) -> None:
    record = {"host": {}, "versions": {}, "protocol": {"seed": 0, "sgemm_backend": "numpy"}}
    (tmp_path / "host.json").write_text(json.dumps(record), encoding="utf-8")
    check_same(tmp_path / "host.json", record | {"protocol": {"seed": 0}}, ())
    with pytest.raises(UsageError, match=r"protocol, sgemm_backend: got 'torch', expected 'numpy'"):
        check_same(tmp_path / "host.json", record | {"protocol": {"seed": 0, "sgemm_backend": "torch"}}, ())


def test_all_times_are_positive_and_circumstances_logged(campaign: Path) -> None:
    found = read_campaign(campaign)
    for frame in (found.kernels, found.steps):
        assert (frame[["cpu_s", "wall_s", "reference_s"]] > 0).all(axis=None)
        assert (frame["load"] >= 0).all()


def test_host_file_tells_machine_versions_and_protocol(campaign: Path) -> None:
    record = json.loads((campaign / "host.json").read_text(encoding="utf-8"))
    assert record["host"]["n_cores"] >= 1
    assert "1 thread" in record["versions"]["blas"]
    assert record["protocol"]["seed"] == 0
    assert record["protocol"]["blas_threads"] == 1


def test_more_rounds_are_added_to_a_finished_campaign(begun: Path) -> None:
    before = pd.read_csv(begun / "steps.csv")
    collect(request(begun, rounds=3))
    after = pd.read_csv(begun / "steps.csv")
    assert sorted(after["round"].unique()) == [1, 2, 3]
    pd.testing.assert_frame_equal(after[after["round"] == 1].reset_index(drop=True), before)
    assert after["sequence"].is_unique


def test_same_rounds_again_measure_nothing(begun: Path) -> None:
    before = (begun / "steps.csv").read_bytes()
    collect(request(begun, rounds=1))
    assert (begun / "steps.csv").read_bytes() == before


def test_interrupt_keeps_finished_visits_and_the_same_call_completes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_after(monkeypatch, visits=3)
    with pytest.raises(InterruptedRun) as caught:
        collect(request(tmp_path))
    assert caught.value.exit_code == 130
    kept = read_campaign(tmp_path)
    assert len(kept.steps) == 3
    monkeypatch.undo()
    collect(request(tmp_path))
    steps = read_campaign(tmp_path).steps
    assert len(steps) == 8
    assert not steps.duplicated(["cnn", "subbatch_size", "round"]).any()


def stop_after(monkeypatch: pytest.MonkeyPatch, visits: int) -> None:
    """Press Ctrl-C while the visit after ``visits`` finished ones is measured."""
    from mlperf.collect.campaign import steps

    measure, count = steps.measure_step, iter(range(visits + 1))

    def interrupted(*args: Any) -> Mapping[str, Any]:
        if next(count) == visits:
            raise KeyboardInterrupt
        return measure(*args)

    monkeypatch.setattr(steps, "measure_step", interrupted)


def test_half_recorded_visits_are_measured_again(begun: Path) -> None:
    lines = (begun / "steps.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (begun / "steps.csv").write_text("".join(lines[:-1]), encoding="utf-8")
    collect(request(begun, rounds=1))
    found = read_campaign(begun)
    assert len(found.steps) == 4
    assert not found.kernels.duplicated(["cnn", "subbatch_size", "kernel", "layer", "round"]).any()


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [("host", "processor", "another"), ("versions", "numpy", "0.1"), ("protocol", "seed", 7), ("host", "id", "another")],
)
def test_resume_refuses_another_host_version_or_seed(begun: Path, section: str, name: str, value: Any) -> None:
    record = json.loads((begun / "host.json").read_text(encoding="utf-8"))
    record[section][name] = value
    (begun / "host.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(UsageError, match=f"{section}, {name}"):
        collect(request(begun))


def test_resume_refuses_another_network_of_the_same_name(begun: Path) -> None:
    other = CnnSpec.from_sprint("small", 16, (3, 4, 5, 6, 7), (2,), 3)
    with pytest.raises(UsageError, match="another network called 'small'"):
        collect(request(begun, cnns=(other,)))


def test_budget_ends_between_two_visits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of this test goes forward an hour once five visits are made, whatever the machine needs for them."""

    def out_of_time(campaign: Campaign) -> bool:
        return time.monotonic() + 3600.0 * (campaign.sequence >= 5) >= campaign.deadline_s

    monkeypatch.setattr(Campaign, "out_of_time", property(out_of_time))
    found = collect(request(tmp_path, rounds=20_000, budget_s=3000.0))
    assert not found.complete
    assert len(read_campaign(tmp_path).steps) == 5


def test_a_budget_that_the_preparation_spends_still_brings_a_visit(tmp_path: Path) -> None:
    for n_rows in (1, 2, 3):
        assert not collect(request(tmp_path, rounds=20, budget_s=1e-9)).complete
        assert len(read_campaign(tmp_path).steps) == n_rows


def test_a_spent_budget_is_out_of_time(tmp_path: Path) -> None:
    now_s = time.monotonic()
    assert [Campaign(tmp_path, 0, now_s + later_s, Silent()).out_of_time for later_s in (-1.0, 3600.0)] == [True, False]


def test_wrong_requests_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    for changes in (
        {"kinds": ("speed",)},
        {"kinds": ()},
        {"cnns": ()},
        {"cnns": CNNS[:1] * 2},
        {"step": "third"},
        {"backend": "numpi"},
    ):
        with pytest.raises(UsageError):
            collect(request(tmp_path / "none", **changes))
    assert not (tmp_path / "none").exists()


def test_other_systems_are_told_what_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(MissingExtraError, match="CLOCK_THREAD_CPUTIME_ID"):
        collect(request(tmp_path))


def test_what_exceeds_memory_is_left_out_and_said(tmp_path: Path) -> None:
    with numpy_backend() as backend:
        small = replace(backend, memory_bytes=100_000)
        inside, outside = run_module.fitting(request(tmp_path, subbatch_sizes=(1, 64)), small)
    assert ("large", 64) not in [(cnn.name, size) for cnn, size in inside]
    assert any(text.startswith("large at 64: needs about") for text in outside)


def test_what_exceeds_the_limit_of_work_is_left_out_and_said(tmp_path: Path) -> None:
    limit = 2 * max(cnn.n_macs for cnn in CNNS)
    with numpy_backend() as backend:
        inside, outside = run_module.fitting(request(tmp_path, subbatch_sizes=(1, 64), max_macs=limit), backend)
    assert [size for _, size in inside] == [1, 1]
    assert all(f"limit {limit:.3g}" in text for text in outside)


def test_a_limit_that_leaves_nothing_is_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"got 4 configurations, none of which can be measured: small at 1: .* limit 10"):
        collect(request(tmp_path / "none", max_macs=10.0))
    assert not (tmp_path / "none").exists()


def test_what_is_left_out_stands_in_the_result_and_in_the_host_file(tmp_path: Path) -> None:
    found = collect(request(tmp_path, rounds=1, max_macs=CNNS[0].n_macs * 1.0))
    assert [text.partition(":")[0] for text in found.left_out] == ["small at 3", "large at 1", "large at 3"]
    assert json.loads((tmp_path / "host.json").read_text(encoding="utf-8"))["protocol"]["left_out"] == list(found.left_out)


class Quiet:
    def announce(self, text: str) -> None: ...

    def start(self, label: str, total: int) -> None: ...

    def advance(self) -> None: ...


class FailingPlan:
    """A plan whose second visit is wrong: what the first one found must survive."""

    tables = ("updates",)
    key = ("operation", "n_params", "subbatch_size", "input_size")
    rounds = 1

    def visits(self, *_: object) -> list[Visit]:
        row = {"operation": "fetch_weights", "n_params": 5, "subbatch_size": 0, "input_size": 0, "cpu_s": 1e-3, "wall_s": 1e-3}
        return [Visit((("fetch_weights", "5", "0", "0"),), lambda: {"updates": [row]}), Visit((), lambda: {"updates": [1 / 0]})]


def test_a_fault_in_one_visit_leaves_the_others_on_disk(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        run_plans(Campaign(tmp_path, 0, float("inf"), Quiet()), [FailingPlan()])
    assert len(pd.read_csv(tmp_path / "updates.csv")) == 1
