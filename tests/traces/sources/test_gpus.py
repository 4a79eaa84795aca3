"""nvidia-smi of our own making: its list, its links, its series."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_tools import make_tool

from mlperf.traces.links.topology import read_links
from mlperf.traces.sources.gpus import TOPOLOGY, Gpus
from mlperf.traces.sources.source import ABSENT, OK

CODE = r"""
if words == ["-L"]:
    print("GPU 0: Tesla (UUID: 1)\nGPU 1: Tesla (UUID: 2)")
elif words[:1] == ["topo"]:
    print("\tGPU0\tGPU1\nGPU0\tX\tNV2\nGPU1\tNV2\tX")
else:
    file = pathlib.Path(words[words.index("-f") + 1])
    file.write_text("timestamp, index, utilization.gpu [%]\n2024/05/06 07:08:09.100, 0, 98 %\n")
    time.sleep(60)
"""


def test_gpus_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_tool(tmp_path / "bin", monkeypatch, "nvidia-smi", CODE)
    source, out = Gpus(), tmp_path / "out"
    out.mkdir()
    assert (source.probe().status, source.probe().reason) == (OK, "2 GPUs")
    source.prepare(out)
    assert read_links(out / TOPOLOGY).bytes_per_s[0, 1] > 0
    source.follow(1)
    source.stop()
    found = source.read(out).counters
    assert found is not None
    assert found.value.tolist() == pytest.approx([0.98])


def test_without_one_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Gpus().probe().status == ABSENT
    make_tool(tmp_path / "bin", monkeypatch, "nvidia-smi", "sys.exit('no devices were found')")
    assert "no devices" in Gpus().probe().reason
    assert Gpus().read(tmp_path).counters is None
