"""Replays against what was recorded, an evaluator that walks the ranks, and SimGrid SMPI.

Ends of 61 programs under SMPI are frozen (``reference/smpi_programs.py``); where ``smpirun`` is on the PATH ten more are run live.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from message_programs import Edits, MadeProgram, Run, protocol_timing, random_program, recorded, with_partial_sums
from replayed_programs import table_of_calls

from mlperf.systems.loggps.presets import find_preset
from mlperf.traces.replay import Timing, replay

REFERENCE = Path(__file__).parents[1] / "reference"
CASES = json.loads((REFERENCE / "smpi_programs.json").read_text())["cases"]
ATTOSECONDS = 1e18
"""In whole nanoseconds the rounding of one message would show."""


@pytest.mark.parametrize("seed", range(150))
def test_an_unmodified_trace_is_replayed_as_recorded(seed: int) -> None:
    program = random_program(seed, acausal=seed % 3 == 0)
    run = Run(program)
    table, _ = recorded(program, run)
    found = replay(table, protocol_timing())
    assert found.splits.n_negative == 0
    assert np.array_equal(found.start_ns, found.program.calls.start_ns)
    assert np.array_equal(found.end_ns, found.program.calls.end_ns)
    assert found.rank_end_ns.tolist() == run.rank_end
    assert found.total_ns == found.program.measured_ns == run.total


def check_other_computes(program: MadeProgram, seed: int) -> None:
    """Every call starts and ends where the walk has it when all ranks compute otherwise."""
    table, _ = recorded(program, Run(program))
    found = replay(table, protocol_timing())
    assert found.splits.n_negative == 0
    rng = np.random.default_rng(seed)
    compute = rng.integers(0, 8000, len(found.times.compute_ns))
    places = list(program.places())
    edits = Edits(compute=dict(zip(places, compute.tolist(), strict=False)))
    edits.compute.update({(rank, len(calls)): int(compute[len(places) + rank]) for rank, calls in enumerate(program.ranks)})
    run = Run(program, edits)
    again = found.again(found.times.replace(compute_ns=compute))
    assert again.start_ns.tolist() == [run.start[place] for place in places]
    assert again.end_ns.tolist() == [run.end[place] for place in places]
    assert again.total_ns == run.total


@pytest.mark.parametrize("seed", range(150))
def test_with_other_computes_every_call_is_where_the_walk_finds_it(seed: int) -> None:
    """The split times must be those that the program was made with: any other split shows up once waits move."""
    program = random_program(seed, acausal=seed % 3 == 0)
    check_other_computes(program, seed)


@pytest.mark.parametrize("seed", range(12))
def test_partial_sums_wait_for_whom_the_recording_shows(seed: int) -> None:
    check_other_computes(with_partial_sums(random_program(seed), seed), seed)


def ends_s(ranks: list[Any], messages: list[Any]) -> list[float]:
    """Ends of all ranks under the parameters of the script, which rounds nothing."""
    preset = find_preset("smpi")
    parameters = preset.parameters(
        latency_s=9.11e-6,
        overhead_s=2.15e-6,
        send_s_per_byte=1.88e-9,
        recv_s_per_byte=0.937e-9,
        gap_s_per_byte=1 / 5e8,
        eager_limit_bytes=16384,
    )
    table = table_of_calls(ranks, messages, ticks_per_ns=10**9)
    return (replay(table, Timing(preset, parameters, ticks_per_s=ATTOSECONDS)).rank_end_ns / ATTOSECONDS).tolist()


@pytest.mark.parametrize("number", range(len(CASES)))
def test_ranks_end_when_those_of_the_simulator_end(number: int) -> None:
    case = CASES[number]
    assert ends_s(case["ranks"], case["messages"]) == pytest.approx(case["ends_s"], rel=1e-9)


def test_the_cases_hold_messages_of_both_kinds_and_at_the_limit() -> None:
    sizes = [size for case in CASES for _, _, size in case["messages"]]
    assert len(CASES) == 61
    assert len(sizes) > 2000
    assert {16383, 16384} <= set(sizes)
    assert min(len(case["ranks"]) for case in CASES) == 2
    assert max(len(case["ranks"]) for case in CASES) == 8


@pytest.mark.skipif(not shutil.which("smpirun"), reason="smpirun is not on the PATH; the frozen ends are compared above")
@pytest.mark.parametrize("seed", range(1000, 1010))
def test_ranks_end_with_the_simulator_live(seed: int, tmp_path: Path) -> None:
    script = _script()
    ranks, messages = script.random_ranks(seed)
    assert ends_s(ranks, messages) == pytest.approx(script.simulate(ranks, messages, tmp_path), rel=1e-9)


def _script() -> ModuleType:
    """The script that froze the ends, as a module."""
    spec = importlib.util.spec_from_file_location("smpi_programs", REFERENCE / "smpi_programs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
