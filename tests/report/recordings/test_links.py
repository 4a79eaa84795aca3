"""What is told of traffic and rings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from figure_8 import FIGURE_8, TOPOLOGY

from mlperf.core.errors import UsageError
from mlperf.report.recordings.links import (
    matrix_answer,
    matrix_figure,
    matrix_sections,
    ring_answer,
    ring_sections,
    size_text,
)
from mlperf.report.text.views import result_answer, result_figure
from mlperf.traces.events.table import event_table
from mlperf.traces.links.matrix import CommMatrix, matrix_of_events
from mlperf.traces.links.matrix_file import read_matrix
from mlperf.traces.links.rings import compare_rings
from mlperf.traces.links.topology import Links, read_links


@pytest.fixture
def traffic(tmp_path: Path) -> CommMatrix:
    path = tmp_path / "traffic.txt"
    path.write_text(FIGURE_8)
    return read_matrix(path)


@pytest.fixture
def links(tmp_path: Path) -> Links:
    path = tmp_path / "topology.txt"
    path.write_text(TOPOLOGY)
    return read_links(path)


def test_the_answer_names_the_busiest_pair(traffic: CommMatrix) -> None:
    assert matrix_answer(traffic).found == "190 GB sent, most from HOST to GPU5, 19 GB"
    assert "nothing is sent" in matrix_answer(matrix_of_events(event_table(0))).found


def test_a_run_without_messages_says_how_they_are_recorded() -> None:
    silent = matrix_of_events(event_table(0), source="run")
    assert result_answer(silent).startswith("run: 0 places: nothing is sent")
    (told,) = matrix_sections(silent)
    assert told.frame is None
    assert "mlperf trace record --build" in told.text
    with pytest.raises(UsageError, match="nothing to draw: run: 0 places: nothing is sent"):
        result_figure(silent)


def test_small_matrices_are_shown_whole_rows_send(traffic: CommMatrix) -> None:
    frame = matrix_sections(traffic)[0].frame
    assert frame is not None
    row = frame.set_index("sender").loc["GPU1"]
    assert (row["GPU2"], row["GPU5"]) == ("19 GB", "0")


def test_heat_maps_show_senders_as_rows(traffic: CommMatrix) -> None:
    figure = matrix_figure(traffic)
    axes = [each for each in figure.axes if each.images]
    assert [each.get_title(loc="left") for each in axes] == ["traffic (MB)", "bandwidth (GB/s)"]
    shown = np.ma.asarray(axes[0].images[0].get_array())
    at = {label.get_text(): place for place, label in enumerate(axes[0].get_yticklabels())}
    assert shown[at["GPU1"], at["GPU2"]] == pytest.approx(19001)
    assert np.ma.is_masked(shown[at["GPU2"], at["GPU1"]])


def test_the_ring_is_told_with_what_it_saves(traffic: CommMatrix, links: Links) -> None:
    found = compare_rings(traffic, links, 8e9)
    answer = ring_answer(found)
    assert answer.asked.endswith("ring in use GPU1 GPU2 GPU3 GPU4 GPU5 GPU6 GPU7 GPU8")
    # 14 GB a device over 10.6 GB/s, and over 18.5 GB/s.
    assert answer.found.endswith("all-reduce 758 ms instead of 1.32 s, 42.5 % less")
    text = ring_sections(found)[-1].text
    assert "The weakest link in use is GPU4 -> GPU5 through the host, 10.62 GB/s." in text


def test_links_that_are_no_better_are_told(links: Links) -> None:
    found = compare_rings(None, links)
    assert ring_answer(found).found.startswith("best ring GPU0 ")
    assert "weakest link 20 GB/s" in ring_answer(found).found


@pytest.mark.parametrize(("size", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2.5e6, "2.5 MB"), (18473e6, "18.47 GB")])
def test_sizes(size: float, text: str) -> None:
    assert size_text(size) == text
