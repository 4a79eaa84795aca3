"""How a trace becomes a run, and what is said about it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from message_programs import Run, random_program, recorded
from replayed_programs import MESSAGES_X, PROGRAM_X, table_of_calls
from stepped_programs import binary_swap

from mlperf.core.errors import UsageError
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.graph.program import program_of
from mlperf.traces.whatif.load import OBSERVED, load_run, observed_limit, validation_of


def test_without_a_network_the_replay_is_what_was_recorded() -> None:
    """Whatever the program: no model takes part."""
    for seed in range(30):
        program = random_program(seed)
        table, _ = recorded(program, Run(program))
        run = load_run(table)
        found = validation_of(run)
        assert run.total_ns == run.program.measured_ns, seed
        assert found.modelled_share == 0.0
        assert found.network.startswith(OBSERVED)


def test_the_observed_limit_is_the_largest_send_that_nobody_was_ready_for() -> None:
    """1000 bytes were sent before the receive was called, 5000 were not."""
    table = event_table(
        4,
        start_ns=[0, 100, 50, 60],
        duration_ns=[20, 30, 100, 90],
        rank=[0, 1, 0, 1],
        kind=[Kind.SEND, Kind.RECV, Kind.SEND, Kind.RECV],
        peer=[1, 0, 1, 0],
        size_bytes=[1000, 1000, 5000, 5000],
        match=[1, 0, 3, 2],
    )
    assert observed_limit(program_of(table)) == 1000
    assert load_run(table).network.eager.tolist() == [True, False]


def test_a_posted_send_that_was_waited_for_before_its_receive_was_called_did_not_ask() -> None:
    """The wait is over after 150 ns, the receive begins at 1000: the unmodified replay is what was recorded."""
    table = event_table(
        4,
        start_ns=[0, 100, 1000, 400],
        duration_ns=[100, 50, 20, 0],
        rank=[0, 0, 1, 0],
        kind=[Kind.ISEND, Kind.WAIT, Kind.RECV, Kind.MARK],
        peer=[1, -1, 0, -1],
        size_bytes=[64, 0, 64, 0],
        corr=[1, 1, -1, -1],
        match=[2, -1, 0, -1],
    )
    assert observed_limit(program_of(table)) == 64
    run = load_run(table)
    assert (run.total_ns, validation_of(run).n_negative) == (run.program.measured_ns, 0)


def test_a_trace_without_times_needs_a_network() -> None:
    """Program X of the frozen fixtures, under the paper's network."""
    table = table_of_calls(PROGRAM_X, MESSAGES_X)
    with pytest.raises(UsageError, match="tells no times of messages"):
        load_run(table)
    run = load_run(table, "perwiz-myrinet")
    assert run.total_ns == 1_333_819
    assert validation_of(run).modelled_share > 0


def test_parameters_replace_the_networks() -> None:
    run = load_run(binary_swap(), "perwiz-myrinet", latency_s=1e-6)
    assert run.timing.parameters.latency_s == 1e-6
    assert run.timing.parameters.overhead_s == pytest.approx(2.15e-6)


def test_the_block_counts_what_the_trace_has_wrong() -> None:
    """A receive that ends before its send starts, and that send, shorter than it waited."""
    table = event_table(
        2,
        start_ns=[100, 0],
        duration_ns=[10, 50],
        rank=[0, 1],
        kind=[Kind.SEND, Kind.RECV],
        peer=[1, 0],
        size_bytes=[10, 10],
        match=[1, 0],
        attributes={"clock_uncertainty_ns": {0: 0, 1: 700}},
    )
    found = validation_of(load_run(table, eager_limit_bytes=100.0))
    assert (found.n_violations, found.n_negative, found.n_eager, found.n_synchronous) == (1, 1, 1, 0)
    assert math.isclose(found.worst_negative_s, 50e-9)
    assert math.isclose(found.clock_uncertainty_s, 700e-9)
    assert np.isclose(found.measured_s, 110e-9)
