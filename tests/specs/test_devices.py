"""Data sheets of devices: found by any usual name, never by a part of another one's, and completed by a machine's own figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mlperf.specs import MachineSpec, load_machine, machine_names
from mlperf.specs.devices import device_sheet, device_sheets, sheet_of

OWN = MachineSpec("own", 1, 1, processor="Accelerator 9", device_memory_bytes=16e9)


def test_every_sheet_has_a_name_of_its_own_and_figures_as_devices_have_them() -> None:
    sheets = device_sheets()
    assert len({sheet.name for sheet in sheets}) == len(sheets)
    for sheet in sheets:
        assert device_sheet(sheet.name) == sheet, sheet.name
        assert 3e12 < sheet.flop_per_s < 2e14, sheet.name
        # Operations for each byte: between those of the first devices for networks and of those with the least memory.
        assert 5.0 < sheet.flop_per_s / sheet.bandwidth_bytes_per_s < 120.0, sheet.name
        assert sheet.source, sheet.name


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("V100", "Tesla V100-SXM2-16GB"),
        ("nvidia tesla v100-pcie-32gb", "Tesla V100-PCIE-32GB"),
        ("A100", "NVIDIA A100-SXM4-80GB"),
        ("A100 PCIe 80GB", "NVIDIA A100 80GB PCIe"),
        ("GeForce RTX 3060", "NVIDIA GeForce RTX 3060"),
        ("RTX 3080", "NVIDIA GeForce RTX 3080"),
        ("TITAN V", "NVIDIA TITAN V"),
        ("K80", "Tesla K80"),
    ],
)
def test_a_device_is_found_by_its_usual_names(asked: str, found: str) -> None:
    sheet = device_sheet(asked)
    assert sheet is not None
    assert sheet.name == found


@pytest.mark.parametrize(
    "name", ["", "NVIDIA", "RTX", "GeForce RTX", "RTX 3060 Laptop", "AMD EPYC 7742", "Instinct MI250X", "H1000"]
)
def test_another_device_is_taken_for_none(name: str) -> None:
    assert device_sheet(name) is None


def test_figures_of_the_machine_come_first() -> None:
    k80 = device_sheet("Tesla K80")
    assert k80 is not None
    slow = sheet_of(replace(OWN, processor="Tesla K80", flop_per_s=2.8e12))
    assert slow == replace(k80, flop_per_s=2.8e12)
    own = sheet_of(replace(OWN, flop_per_s=1e13, device_bandwidth_bytes_per_s=1e12))
    assert own is not None
    assert (own.name, own.flop_per_s, own.bandwidth_bytes_per_s) == ("Accelerator 9", 1e13, 1e12)


def test_a_machine_without_a_device_or_with_a_figure_missing_has_no_sheet() -> None:
    assert sheet_of(replace(OWN, processor=None)) is None
    assert sheet_of(replace(OWN, flop_per_s=1e13)) is None
    assert sheet_of(load_machine("archer2")) is None
    cpu = replace(OWN, processor="AMD EPYC 7742", device_memory_bytes=None, flop_per_s=4e12, device_bandwidth_bytes_per_s=2e11)
    assert sheet_of(cpu) is None


def test_machines_that_ship_say_what_the_sheets_of_their_devices_say() -> None:
    for name in machine_names():
        machine = load_machine(name)
        known = None if machine.processor is None else device_sheet(machine.processor)
        if known is not None:
            assert machine.flop_per_s == pytest.approx(known.flop_per_s, rel=5e-3), name
