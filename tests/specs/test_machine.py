"""Machines: Table 6 of the SPRINT paper, TOML, errors."""

from __future__ import annotations

import dataclasses
from math import prod
from pathlib import Path

import pytest

from mlperf.core.errors import DataError
from mlperf.specs.machine import MachineSpec, find_machine, load_machine, machine_names, read_machine, write_machine
from mlperf.specs.network.fields import overridden


def test_table_6():
    """Chips, not boards: a K80 has two, with half its 24 GB and 8.74 TFLOP/s each."""
    kfc, tsubame2 = load_machine("kfc"), load_machine("tsubame2")
    assert (kfc.max_nodes, kfc.n_gpus_per_node, kfc.cores, kfc.memory_bytes) == (42, 8, 12, 64e9)
    assert (kfc.device_memory_bytes, kfc.flop_per_s, kfc.bandwidth_bytes_per_s) == (12e9, 4.37e12, 7e9)
    assert kfc.n_gpus_per_node * kfc.flop_per_s == pytest.approx(4 * 8.74e12)
    assert (tsubame2.max_nodes, tsubame2.n_gpus_per_node, tsubame2.cores, tsubame2.memory_bytes) == (1408, 3, 12, 54e9)
    assert (tsubame2.device_memory_bytes, tsubame2.flop_per_s, tsubame2.bandwidth_bytes_per_s) == (6e9, 3.95e12, 4e9)
    assert kfc.software["cuda"] == tsubame2.software["cuda"] == "7.0"


@pytest.mark.parametrize(
    ("name", "cores", "clock_hz", "flop_per_clock"),
    [("dgx-h100", 16_896, 1.98e9, 2), ("dgx-a100", 6_912, 1.41e9, 2), ("rtx4090", 16_384, 2.52e9, 2), ("archer2", 64, 2.25e9, 32)],
)
def test_peaks_are_cores_times_clock_times_fused_multiply_adds(name, cores, clock_hz, flop_per_clock):
    """Cores and boost clocks of the vendors' white papers; single precision, no tensor cores."""
    assert load_machine(name).flop_per_s == pytest.approx(cores * clock_hz * flop_per_clock, rel=2e-3)


@pytest.mark.parametrize("name", machine_names())
def test_the_page_of_machines_tells_each_with_its_figures(name):
    """In the units of the page: counts, TFLOP/s, GB, Gbit/s."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "machines.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
    nodes, gpus, peak, memory, network = (cell.strip() for cell in row.split("|")[3:8])
    machine = load_machine(name)
    assert (int(nodes), int(gpus)) == (machine.max_nodes, machine.n_gpus_per_node)
    assert peak == ("-" if machine.flop_per_s is None else f"{machine.flop_per_s / 1e12:.1f} TFLOP/s")
    assert memory == ("-" if machine.device_memory_bytes is None else f"{machine.device_memory_bytes / 1e9:.0f} GB")
    assert prod(map(float, network.removesuffix(" Gbit/s").split(" x "))) == pytest.approx(8 * machine.bandwidth_bytes_per_s / 1e9)


@pytest.mark.parametrize("name", machine_names())
def test_every_figure_that_ships_has_a_source(name):
    machine = load_machine(name)
    figures = {field.name for field in dataclasses.fields(machine)} - {"name", "software", "sources"}
    assert machine.name == name
    assert set(machine.sources) == {figure for figure in figures if getattr(machine, figure) is not None}


def test_reading_gives_back_what_was_written(tmp_path):
    full = MachineSpec("box", 2, 4, 16, 1e11, 8e10, 6e13, 2e-6, 1.25e10, 3.5, 700.0, {"torch": "2.2"}, {"power_w": "meter"})
    for machine in (full, MachineSpec("bare", 1, 1), load_machine("kfc")):
        write_machine(machine, tmp_path / "machine.toml")
        assert read_machine(tmp_path / "machine.toml") == machine
        assert hash(find_machine(tmp_path / "machine.toml")) == hash(machine)


def test_fields_can_be_overridden_and_are_checked_again():
    kfc = load_machine("kfc")
    assert overridden(kfc, n_gpus_per_node=4, power_w=None).n_gpus_per_node == 4
    assert overridden(kfc) == kfc
    with pytest.raises(DataError, match="n_gpus_per_node: got 0, expected a whole number >= 1"):
        overridden(kfc, n_gpus_per_node=0)
    with pytest.raises(DataError, match="Did you mean 'max_nodes'"):
        overridden(kfc, max_node=3)


HEAD = 'name = "m"\nmax_nodes = 2\nn_gpus_per_node = 1\n'


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ('name = "m"\nmax_nodes = 2', "machine", "got no key 'n_gpus_per_node'"),
        (HEAD + "gpus = 3", "machine", "got key 'gpus'"),
        (HEAD + "latency_s = -1e-6", "machine 'm', latency_s", "got -1e-06, expected a number >= 0"),
        (HEAD + "bandwidth_bytes_per_s = 0", "machine 'm', bandwidth_bytes_per_s", "got 0, expected a number > 0"),
        (HEAD + "flop_per_s = nan", "machine 'm', flop_per_s", "got nan, expected a number > 0"),
        (HEAD + 'cores = "12"', "machine 'm', cores", "got '12', expected a whole number >= 1"),
        (HEAD + "cores = 1.5", "machine 'm', cores", "got 1.5, expected a whole number >= 1"),
        (HEAD + "cores = true", "machine 'm', cores", "got True, expected a whole number >= 1"),
        (HEAD + "[software]\ncuda = 7.0", "machine 'm', software, cuda", "got 7.0, expected a text"),
        (HEAD + '[sources]\ncore = "x"', "machine 'm', sources", "got key 'core'"),
        (HEAD + "software = 3", "machine 'm', software", "got 3, expected a table"),
        ("name = 3\nmax_nodes = 2\nn_gpus_per_node = 1", "machine, name", "got 3, expected a name"),
    ],
)
def test_mistakes_name_file_and_key(text, place, message, tmp_path):
    path = tmp_path / "machine.toml"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_machine(path)
    assert caught.value.place == f"{path}, {place}"
    assert message in caught.value.message
    assert caught.value.hint or "expected one of name, max_nodes, " in caught.value.message


def test_an_unknown_machine_gets_a_hint():
    with pytest.raises(DataError, match="Did you mean 'tsubame2'"):
        load_machine("tsubame")
