"""A network by its campaign: found, or said where it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click
import pytest

from mlperf.cli.framework.networks import CnnName
from mlperf.datasets import read_campaign
from mlperf.specs import CnnSpec, find_cnn


@pytest.fixture(scope="module")
def cnns() -> Mapping[str, CnnSpec]:
    """Networks of the bundled campaign."""
    return read_campaign("cpu-epyc").cnns


@pytest.mark.parametrize("text", ["cpu-epyc/cnn00", "cpu-epyc/cnn00.toml"])
def test_a_network_of_a_bundled_campaign_is_found(text: str, cnns: Mapping[str, CnnSpec]) -> None:
    file = CnnName().convert(text, None, None)
    assert find_cnn(file) == cnns["cnn00"]


def test_a_network_of_a_campaign_on_disk_comes_before_a_bundled_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = Path("cpu-epyc/cnns/cnn00.toml")
    monkeypatch.chdir(tmp_path)
    file.parent.mkdir(parents=True)
    file.write_text("", encoding="utf-8")
    assert CnnName().convert("cpu-epyc/cnn00", None, None) == file
    assert CnnName().convert("../" + tmp_path.name + "/cpu-epyc/cnn00", None, None).samefile(file)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cnn00", "cpu-epyc/cnn00"),
        ("cnn00.toml", "cpu-epyc/cnn00"),
        ("cpu-epyc/cnn0o", "campaign 'cpu-epyc' has no network 'cnn0o'. Did you mean 'cnn"),
        ("cpu-epic/cnn00", "does not exist. Campaigns have one: "),
        ("vgg_16", "Did you mean 'vgg16'"),
        ("nowhere/net.toml", "does not exist"),
        ("a\x00b/cnn00", "does not exist"),
        ("y" * 5000 + "/cnn00", "does not exist"),
    ],
)
def test_a_network_that_is_not_there_is_told_where_it_is(text: str, says: str) -> None:
    with pytest.raises(click.BadParameter) as refused:
        CnnName().convert(text, None, None)
    assert says in str(refused.value)
