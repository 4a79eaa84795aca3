"""What is refused, and what is emulated."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from mlperf.collect.synchronous.request import EMULATED, REAL, DdpRequest, check_request, exchange_sizes, settings_of
from mlperf.collect.trainer.samples import digits_cnn
from mlperf.core.errors import UsageError
from mlperf.specs.network.cnn import CnnSpec

REQUEST = DdpRequest(Path("runs"))


def test_more_processes_than_cores_wait_unless_told_otherwise() -> None:
    n_cores = os.cpu_count() or 1
    assert REQUEST.mode(n_cores) == REAL
    assert REQUEST.mode(n_cores + 1) == EMULATED
    assert replace(REQUEST, wait="never").mode(n_cores + 1) == REAL
    assert replace(REQUEST, wait="always", n_processes=(1, 2)).needs_rounds() == (1, 2)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"engine": "jax"}, "engine 'jax'"),
        ({"wait": "often"}, "wait 'often'"),
        ({"n_processes": (0, 1)}, "counts of at least 1"),
        ({"momentum": 1.0}, "momentum"),
        ({"exchange_bytes": (6,)}, "multiples of 4"),
        ({"cnns": (digits_cnn(), digits_cnn())}, "two networks of one name"),
        ({"run_s": 0.0}, "got seconds of a run 0, expected numbers above 0"),
        ({"run_s": float("inf")}, "got seconds of a run inf, expected numbers above 0, and finite"),
        ({"learning_rate": float("nan")}, "learning rate > 0"),
    ],
)
def test_what_cannot_be_run_is_refused(change: dict, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        check_request(replace(REQUEST, **change))


def test_every_network_runs_at_every_subbatch() -> None:
    assert settings_of(replace(REQUEST, subbatch_sizes=(2, 4)), (digits_cnn(),)) == [("digits", 2), ("digits", 4)]


def test_the_isolated_exchange_reaches_the_largest_gradient() -> None:
    small, large = digits_cnn(), CnnSpec.from_sprint("large", 28, (3, 32, 64, 512, 10), (2,), 2)
    assert exchange_sizes(REQUEST, (small,)) == tuple(4**power for power in range(6, 13))
    assert exchange_sizes(REQUEST, (small, large))[-2:] == (4**12, 4**13)
    assert 4**12 < 4 * large.n_params < 4**13
    assert exchange_sizes(replace(REQUEST, exchange_bytes=()), (large,)) == ()
