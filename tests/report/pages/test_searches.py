"""Searches as people see them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mlperf.planning.search.search import SearchResult
from mlperf.report.pages.searches import search_sections
from mlperf.report.text.views import result_figure, result_text


def found(n_best: int) -> SearchResult:
    """Four configurations; (2 nodes, sub-batch 2) does not fit, (2, 1) is best."""
    grid = pd.DataFrame(
        {
            "n_nodes": [1, 1, 2, 2],
            "n_gpus_per_node": [8] * 4,
            "subbatch_size": [1, 2, 1, 2],
            "epoch_s": [4000.0, 3000.0, 2000.0, 1500.0],
            "mean_minibatch_size": [50.0, 100.0, 140.0, 200.0],
            "cost": [np.nan] * 4,
            "energy_j": [np.nan] * 4,
            "in_window": [False, True, True, False],
            "feasible": [True, True, True, False],
            "in_domain": [True] * 4,
            "closed": ["phases"] * 4,
        }
    )
    best = grid.iloc[[2, 1]].assign(rank=[1, 2], window_probability=[0.9, 0.6]).iloc[:n_best].reset_index(drop=True)
    return SearchResult(
        cnn="a1",
        machine="kfc",
        window=(100.0, 172.5),
        objective="epoch_s",
        best=best,
        misses=grid.iloc[:1] if n_best == 0 else grid.iloc[:0],
        pareto=best,
        grid=grid,
        n_refined=4,
        assumed=("allreduce",),
    )


def test_the_ranking_says_window_forms_and_assumptions() -> None:
    text = result_text(found(2))
    assert "a1 on kfc, mean mini-batch in 100.0 to 172.5 samples" in text
    assert "33.33" in text
    assert "4 configurations solved with second_moment, 4 of them again with phases." in text
    assert "Device memory too small for 1 of 4 configurations." in text
    assert "allreduce" in text
    assert "energy" not in text


def test_the_energy_of_a_plane_is_drawn_in_the_unit_that_reads_best() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    whole = found(2)
    for joules, unit, cell in ((7.2e3, "Wh", "2.00"), (1.8e7, "kWh", "5.00")):
        grid, best = (table.assign(energy_j=joules) for table in (whole.grid, whole.best))
        figure = result_figure(replace(whole, objective="energy_j", grid=grid, best=best))
        assert cell in [text.get_text() for text in figure.axes[0].texts]
        assert f"energy of an epoch ({unit})" in [axes.get_ylabel() for axes in figure.axes]


def test_the_scale_of_prices_says_whose_currency_it_is() -> None:
    whole = found(2)
    grid, best = (table.assign(cost=2.0) for table in (whole.grid, whole.best))
    figure = result_figure(replace(whole, objective="cost", grid=grid, best=best))
    assert "cost of an epoch (currency of the machine's price)" in [axes.get_ylabel() for axes in figure.axes]


def test_energy_is_told_in_watt_hours_and_what_no_window_asks_for_is_not() -> None:
    windowed = found(2)
    table = windowed.best.assign(energy_j=[7.2e3, 14.4e3])
    text = result_text(replace(windowed, best=table))
    assert "energy (Wh)" in text
    assert "4.000" in text
    assert "window probability" in text
    free = result_text(replace(windowed, window=(0.0, math.inf)))
    assert "any mini-batch" in free
    assert "window probability" not in free
    assert "in window" not in free


def test_an_empty_window_shows_the_nearest() -> None:
    sections = search_sections(found(0))
    assert "nothing found" in sections[0].title
    assert len(sections[0].frame) == 1


def test_the_plane_frames_the_best_and_blanks_what_does_not_fit() -> None:
    axes = result_figure(found(2)).axes[0]
    assert [patch.get_xy() for patch in axes.patches] == [(1, 0)]
    assert [len(cells.get_paths()) for cells in axes.collections if cells.get_alpha()] == [1]
    assert len(axes.texts) == 3
    assert not result_figure(found(0)).axes[0].patches


def test_each_plane_says_what_it_shows() -> None:
    titles = [axes.get_title(loc="left") for axes in result_figure(found(2)).axes[:2]]
    assert [title.partition(":")[0] for title in titles] == ["Epoch", "Mean mini-batch"]
    assert titles[0].replace("\n", " ") == "Epoch: a1 on kfc, 8 GPUs a node"
    one = replace(found(0), grid=found(0).grid.assign(n_gpus_per_node=[1, 1, 8, 8]))
    one = replace(one, misses=one.grid.iloc[2:3])
    shown = [axes.get_title(loc="left").replace("\n", " ") for axes in result_figure(one).axes[:3]]
    assert [title.rpartition(", ")[2] for title in shown] == ["8 GPUs a node", "1 GPU a node", "8 GPUs a node"], "nearest first"
