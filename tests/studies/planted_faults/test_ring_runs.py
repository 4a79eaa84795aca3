"""Runs over rings: the schedule of the example on plain numbers, links that take their time, and the orders that are compared."""

from __future__ import annotations

import importlib.util
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.studies.planted_faults.protocol import RingSettings
from mlperf.studies.planted_faults.ring_runs import best_order, measured_links, ring_command, training_command

EXAMPLE = Path(__file__).parents[3] / "examples" / "whole_run"
SETTINGS = RingSettings(9, 5, 64, 1.0, "0,1,2,3,4,5,6,7")


@pytest.fixture(scope="module")
def program() -> ModuleType:
    """The example; MPI is not touched before it runs."""
    spec = importlib.util.spec_from_file_location("whole_run_ring", EXAMPLE / "ring.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


@pytest.mark.parametrize("n", [2, 3, 8])
def test_the_schedule_sums_everything_everywhere(program: ModuleType, n: int) -> None:
    rng = np.random.default_rng(n)
    parts = [rng.integers(0, 100, n) for _ in range(n)]
    total = np.sum(parts, axis=0)
    n_rounds = 0
    for offset, is_summed in program.ring_steps(n):
        leaving = [int(parts[at][(at + offset) % n]) for at in range(n)]
        for at in range(n):
            place = (at + offset - 1) % n
            parts[at][place] = leaving[at - 1] + (parts[at][place] if is_summed else 0)
        n_rounds += 1
    assert n_rounds == 2 * (n - 1)
    assert all((each == total).all() for each in parts)


def test_the_machine_is_that_of_figure_8(program: ModuleType, tmp_path: Path) -> None:
    machine = program.read_machine(EXAMPLE / "machine.csv")
    assert machine.places == ("HOST", *(f"GPU{number}" for number in range(1, 9)))
    # 18,473 MB in 1.69 s to the host and 1.74 s from it, in 1.00 s over an NVLink, a thousandth of it.
    assert machine.bytes_per_s[4, [0, 3]] == pytest.approx([18473e3 / 1.69, 18473e3], rel=1e-6)
    assert machine.bytes_per_s[0, 5] == pytest.approx(18473e3 / 1.74, rel=1e-6)
    ways = [machine.next_to(one, other) for one, other in pairwise((*machine.devices, machine.devices[0]))]
    assert ways == [2, 3, 4, 0, 6, 7, 8, 0]
    program.write_machine(tmp_path / "again.csv", machine, machine.bytes_per_s)
    assert (program.read_machine(tmp_path / "again.csv").bytes_per_s == machine.bytes_per_s).all()


def test_an_order_names_every_device_once(program: ModuleType) -> None:
    assert program.order_from("2,0,1", 3) == (2, 0, 1)
    for text in ("0,1", "0,1,1", "1,2,3"):
        with pytest.raises(SystemExit, match="each once"):
            program.order_from(text, 3)


class Wire:
    """Stands for MPI: what is sent lies in a queue until it is asked for."""

    def __init__(self, rank: int, queues: dict[tuple[int, int, int], list[np.ndarray]]) -> None:
        self.rank, self.queues = rank, queues

    def Get_rank(self) -> int:
        return self.rank

    def Isend(self, values: np.ndarray, dest: int, tag: int) -> Any:
        self.queues[self.rank, dest, tag].append(np.array(values))
        return Done()


class Done:
    def Test(self, _status: Any = None) -> bool:
        return True


def test_a_message_leaves_when_its_link_had_its_time(program: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    now, slept = [100.0], []
    monkeypatch.setattr(program.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(program.time, "sleep", slept.append)
    machine = program.Machine(("HOST", "A", "B"), np.array([[0, 1e3, 1e3], [1e3, 0, 4e3], [1e3, 4e3, 0]]))
    queues: dict[tuple[int, int, int], list[np.ndarray]] = defaultdict(list)
    links = program.PacedLinks(Wire(1, queues), machine)
    values = np.zeros(1000, dtype=np.float32)
    first, second, other = (links.Isend(values, dest, 5) for dest in (2, 2, 0))
    # 4000 bytes: a second each over the fast link, one after another; four over the other at the same time.
    assert (first.due_s, second.due_s, other.due_s) == (101.0, 102.0, 104.0)
    assert not first.Test()
    assert not queues
    now[0] = 101.5
    assert first.Test()
    assert not second.Test()
    assert len(queues[1, 2, 5]) == 1
    links.rest()
    assert slept == [program.LONG_REST_S]
    now[0] = 104.0
    assert second.Test()
    assert other.Test()
    links.rest()
    assert slept[-1] == program.REST_S


def test_the_host_expects_exactly_what_devices_send(program: ModuleType) -> None:
    machine = program.read_machine(EXAMPLE / "machine.csv")
    ring, n_steps, piece = machine.devices, 3, 16
    queues: dict[tuple[int, int, int], list[np.ndarray]] = defaultdict(list)
    n, weights = len(ring), np.zeros(len(ring) * 2 * piece, dtype=np.float32)
    for at, rank in enumerate(ring):
        device = program.Device(Wire(rank, queues), machine)
        for other in ring[1:] if rank == ring[0] else ():
            device.send(weights, other)
        for _ in range(n_steps * len(list(program.ring_steps(n)))):
            device.send(weights[: 2 * piece], ring[(at + 1) % n])
    sent = {(one, tag): [len(each) // piece for each in found] for (one, dest, tag), found in queues.items() if dest == 0}
    assert sent == program.passing(machine, ring, n_steps)
    # Over a ring of links of their own the host passes on nothing but the first weights.
    order = [machine.devices[number] for number in (0, 3, 1, 2, 6, 7, 5, 4)]
    assert set(program.passing(machine, tuple(order), n_steps)) == {(1, 6), (1, 7), (1, 8)}


def test_the_best_order_uses_links_of_their_own_only(program: ModuleType) -> None:
    machine = program.read_machine(EXAMPLE / "machine.csv")
    order = program.order_from(best_order(EXAMPLE / "machine.csv"), 8)
    ring = [machine.devices[number] for number in order]
    assert all(machine.is_direct(one, other) for one, other in pairwise((*ring, ring[0])))


def test_links_that_close_no_ring_are_said(tmp_path: Path) -> None:
    (tmp_path / "links.csv").write_text(",HOST,A,B,C\nHOST,0,1,1,1\nA,1,0,1,0\nB,1,1,0,1\nC,1,0,1,0\n")
    with pytest.raises(DataError, match="close no ring"):
        best_order(tmp_path / "links.csv")


def test_commands_and_links_that_are_there(tmp_path: Path) -> None:
    train = EXAMPLE / "train.py"
    assert ring_command(SETTINGS, train)[1:5] == ["-n", "9", sys.executable, str(EXAMPLE / "ring.py")]
    words = training_command(SETTINGS, train, "0,1", tmp_path / "log.json")
    assert words[words.index("--order") + 1] == "0,1"
    assert words[words.index("--steps") + 1] == "5"
    (tmp_path / "links.csv").touch()
    assert measured_links(SETTINGS, train, tmp_path) == tmp_path / "links.csv"
