"""Who sends what: every row that is needed comes from somebody, and both ends agree about it."""

from __future__ import annotations

from itertools import product

import numpy as np

from mlperf.collect.servers.layout import Layout, common, shards
from mlperf.collect.servers.net import Net
from mlperf.systems.model_parallel.plans import LayerPlan


def layouts(net: Net) -> list[Layout]:
    """Random plans, reproducible."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(30):
        plans = tuple(LayerPlan(int(rng.integers(1, min(4, layer.rows + 1))), int(rng.integers(1, 3)), 1) for layer in net.layers)
        found.append(Layout(net, plans))
    return found


def test_rows_read_are_complete_in_order_and_held_by_their_senders(conv: Net) -> None:
    for layout in layouts(conv):
        for number, sample in product(range(1, len(conv.layers)), range(4)):
            for stripe in range(layout.plan[number].n_stripes):
                pieces = layout.below(number, stripe, sample)
                rows = [row for piece in pieces for row in range(piece.first, piece.last)]
                assert rows == list(range(*layout.needs(number, stripe)))
                for piece in pieces:
                    place = layout.place(number - 1, piece.worker)
                    assert place is not None
                    assert place[0] == sample % layout.plan[number - 1].n_copies
                    first, last = layout.rows(number - 1, place[1])
                    assert first <= piece.first < piece.last <= last


def test_what_one_end_sends_the_other_expects(conv: Net) -> None:
    for layout in layouts(conv):
        for number, sample in product(range(len(conv.layers) - 1), range(4)):
            given = {
                (layout.host(number, stripe, sample), piece.worker, piece.first, piece.last)
                for stripe in range(layout.plan[number].n_stripes)
                for piece in layout.above(number, stripe, sample)
            }
            taken = {
                (piece.worker, layout.host(number + 1, stripe, sample), piece.first, piece.last)
                for stripe in range(layout.plan[number + 1].n_stripes)
                for piece in layout.below(number + 1, stripe, sample)
            }
            assert given == taken


def test_workers_own_every_parameter_exactly_once(conv: Net) -> None:
    for layout in layouts(conv):
        spans = [span for worker in range(layout.n_workers) for span in layout.owned(worker)]
        places = np.sort(np.concatenate([np.arange(*span) for span in spans]))
        assert np.array_equal(places, np.arange(conv.n_params))


def test_servers_hold_every_parameter_once() -> None:
    parts = shards(103, 4)
    assert [place for part in parts for place in range(*part)] == list(range(103))
    assert common([(0, 30), (40, 60)], parts[1]) == [(25, 30), (40, 51)]
