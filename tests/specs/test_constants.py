"""Constants of a machine: what a file says, and C_muladd between its rows."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.specs.constants import CacheStep, MachineConstants, MulAddTable, read_constants, write_constants

CLUSTER = Path(__file__).parents[1] / "reference/partition/cluster.toml"


def test_a_cache_step_is_the_hit_rate_between_two_costs() -> None:
    step = CacheStep(2e-10, 6e-10, 20e6)
    assert step.seconds(np.array([1.0, 20e6, 40e6])) == pytest.approx([2e-10, 2e-10, 4e-10])
    assert step.seconds(np.array(1e15)) == pytest.approx(6e-10, rel=1e-4)


def test_a_table_is_linear_in_the_logarithm_and_constant_beyond() -> None:
    table = MulAddTable((1e3, 1e5), (1e-10, 3e-10))
    assert table.seconds(np.array([1.0, 1e3, 1e4, 1e5, 1e9])) == pytest.approx([1e-10, 1e-10, 2e-10, 3e-10, 3e-10])


def test_constants_come_back_from_their_file(tmp_path: Path) -> None:
    one = read_constants(CLUSTER)
    kinds = {"fc": MulAddTable((1e3, 1e5), (1e-10, 3e-10)), "any": CacheStep(2e-10, 6e-10, 2e7)}
    two = dataclasses.replace(one, muladd=kinds, source="loopback", relative_std_errors={"muladd": 0.02}, minibatch_size=8)
    added = dataclasses.replace(one, add=MulAddTable((1e4, 1e6), (1e-10, 4e-10)))
    for constants in (one, two, added):
        write_constants(constants, tmp_path / "again.toml")
        assert read_constants(tmp_path / "again.toml") == constants
    assert two.muladd_s("conv", np.array(1.0)) == pytest.approx(2e-10)
    assert two.muladd_s("fc", np.array(1.0)) == pytest.approx(1e-10)


def test_rows_of_kinds_in_any_order(tmp_path: Path) -> None:
    text = CLUSTER.read_text(encoding="utf-8").split("[muladd]")[0]
    rows = [(2e6, "3e-10", "fc"), (1e3, "1e-10", "fc"), (1e3, "5e-10", "conv")]
    text += "\n".join(f'[[muladd]]\nworking_set_bytes = {size}\nseconds = {cost}\nkind = "{kind}"' for size, cost, kind in rows)
    path = tmp_path / "rows.toml"
    path.write_text(text, encoding="utf-8")
    found = read_constants(path)
    assert found.muladd["fc"] == MulAddTable((1e3, 2e6), (1e-10, 3e-10))
    with pytest.raises(DataError, match="pool"):
        found.muladd_s("pool", np.array(1.0))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"source": "guessed"}, "source"),
        ({"interference": (1.0, 1.03)}, "interference"),
        ({"interference": (1.1,) * 16}, "interference"),
        ({"bandwidth_bytes_per_s": 0.0}, "bandwidth"),
        ({"latency_s": (float("nan"),) * 16}, "latency_s"),
        ({"muladd": {}}, "muladd"),
        ({"muladd": {"rnn": CacheStep(1e-10, 1e-10, 1e6)}}, "rnn"),
        ({"relative_std_errors": {"muladds": 0.1}}, "muladds"),
    ],
)
def test_constants_that_cannot_be_are_refused(changes: dict[str, object], named: str) -> None:
    values = {each.name: getattr(read_constants(CLUSTER), each.name) for each in dataclasses.fields(MachineConstants)}
    with pytest.raises(DataError, match=named):
        MachineConstants(**{**values, **changes})


def test_an_error_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text('latency = [1.0]\nname = "bad"\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"bad\.toml"):
        read_constants(path)
