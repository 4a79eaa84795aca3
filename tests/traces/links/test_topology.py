from __future__ import annotations

from pathlib import Path

import pytest
from figure_8 import FIGURE_8, TOPOLOGY

from mlperf.core.errors import DataError
from mlperf.traces.links.topology import NVLINK_BYTES_PER_S, WORDS, read_links

# Three GPUs as a driver prints them in colour on a terminal, with a network card.
COLOURED = (
    "\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\x1b[0m\n"
    "GPU0\t X \tNV18\tPXB\tPIX\t0-31\t0\nGPU1\tNV18\t X \tPHB\tSYS\t0-31\t0\nGPU2\tPXB\tPHB\t X \tNODE\t32-63\t1\n"
    "NIC0\tPIX\tSYS\tNODE\t X \n"
)


def read(text: str, folder: Path):  # type: ignore[no-untyped-def]
    path = folder / "links.txt"
    path.write_text(text)
    return read_links(path)


def test_links_of_the_papers_machine(tmp_path: Path) -> None:
    found = read(TOPOLOGY, tmp_path)
    assert found.places == tuple(f"GPU{number}" for number in range(8))
    nvlinks = {(one, other) for one in range(8) for other in range(8) if found.words[one][other] == "NV1"}
    assert len(nvlinks) == 8 * 4
    assert {(0, 4), (1, 5), (2, 6), (3, 7)} <= nvlinks
    assert found.bytes_per_s[0, 4] == NVLINK_BYTES_PER_S
    assert found.bytes_per_s[3, 4] == WORDS["SYS"]
    assert found.bytes_per_s[0, 0] == 0


def test_colours_cards_and_many_links(tmp_path: Path) -> None:
    found = read(COLOURED, tmp_path)
    assert found.places == ("GPU0", "GPU1", "GPU2")
    assert found.bytes_per_s[0, 1] == 18 * NVLINK_BYTES_PER_S
    assert found.words[2] == ("PXB", "PHB", "X")


def test_shorter_ways_are_faster() -> None:
    values = [WORDS[word] for word in ("PIX", "PXB", "PHB", "NODE", "SYS")]
    assert values == sorted(values, reverse=True)
    assert values[0] < NVLINK_BYTES_PER_S


def test_a_table_of_bandwidths(tmp_path: Path) -> None:
    found = read(" a b\na 0 5e9\nb 4e9 0\n", tmp_path)
    assert (found.places, found.bytes_per_s.tolist()) == (("a", "b"), [[0, 5e9], [4e9, 0]])
    assert read(FIGURE_8, tmp_path).places[0] == "HOST"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (TOPOLOGY.replace("NV1", "NVX", 1), "line 2, column GPU1: got 'NVX'"),
        ("\n".join(TOPOLOGY.split("\n")[:5]), "got rows of 4 of 8 devices"),
        ("# nothing\n", "holds no matrix"),
    ],
)
def test_what_is_wrong_is_told(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(text, tmp_path)
    assert told in str(caught.value)
