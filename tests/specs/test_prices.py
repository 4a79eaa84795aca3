"""Price files: a node's or a GPU's hour, energy, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.specs.prices import PriceSpec, read_prices


def read(text: str, tmp_path: Path) -> PriceSpec:
    (tmp_path / "prices.toml").write_text(text, encoding="utf-8")
    return read_prices(tmp_path / "prices.toml")


def test_hours_of_nodes_and_of_gpus(tmp_path: Path) -> None:
    text = 'currency = "EUR"\nper_kwh = 0.3\n[machines.kfc]\nper_node_hour = 2.5\n[machines."big one"]\nper_gpu_hour = 3\n'
    found = read(text, tmp_path)
    assert (found.currency, found.per_kwh) == ("EUR", 0.3)
    assert found.of("kfc").per_hour(4, 32) == 10.0
    assert found.of("big one").per_hour(4, 32) == 96.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("per_kwh = 1", "currency"),
        ('currency = ""\nper_kwh = 1', "expected a name"),
        ('currency = "EUR"', "got no price"),
        ('currency = "EUR"\n[machines.kfc]\n', "one of the two"),
        ('currency = "EUR"\n[machines.kfc]\nper_node_hour = 1\nper_gpu_hour = 1', "one of the two"),
        ('currency = "EUR"\n[machines.kfc]\nper_node_hour = -1', "got -1"),
        ('currency = "EUR"\n[machines.kfc]\nper_node_hour = 1e308', "a number >= 0, at most 1e"),
        ('currency = "EUR"\n[machines.kfc]\nper_day = 1', "per_node_hour"),
        ('currency = "EUR"\nmachines = 3', "expected tables"),
        ('currency = "EUR"\n[machines]\nkfc = 3', "expected a table"),
    ],
)
def test_what_is_no_price_is_refused_with_the_file(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read(text, tmp_path)
    assert "prices.toml" in str(caught.value)


def test_a_machine_without_price_is_named_with_those_that_have_one(tmp_path: Path) -> None:
    found = read('currency = "EUR"\n[machines.kfc]\nper_node_hour = 1', tmp_path)
    with pytest.raises(DataError, match="got no price of machine 'kcf', known are kfc"):
        found.of("kcf")
