"""Members of collective operations over ranks."""

from __future__ import annotations

from pathlib import Path

from profiles import ALL_REDUCE, kernel, write

from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.readers.chrome.reader import read_chrome

GATHER = "ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)"


def test_order_by_kind_joins_where_nothing_is_told(tmp_path: Path) -> None:
    write(tmp_path / "rank_0.json", [kernel(1, 1, 1, ALL_REDUCE), kernel(3, 1, 2, GATHER), kernel(5, 1, 3, ALL_REDUCE)], 0)
    write(tmp_path / "rank_1.json", [kernel(2, 1, 1, GATHER), kernel(4, 1, 2, ALL_REDUCE), kernel(6, 1, 3, ALL_REDUCE)], 1)
    table = read_chrome(tmp_path)
    first, second = (table.corr[table.rank == rank].tolist() for rank in (0, 1))
    assert first == [second[1], second[0], second[2]]
    assert any("tell no sequence number" in note for note in table.notes)


def test_group_and_number_join_where_they_are_told(tmp_path: Path) -> None:
    def member(start: float, number: int, group: str) -> dict[str, object]:
        return kernel(start, 1, number, ALL_REDUCE, **{"Process Group Name": group, "Seq": number})

    write(tmp_path / "rank_0.json", [member(1, 5, "a"), member(3, 6, "a"), member(5, 5, "b")], 0)
    write(tmp_path / "rank_1.json", [member(2, 6, "a"), member(9, 5, "b")], 1)
    table = read_chrome(tmp_path)
    first, second = (table.corr[table.rank == rank].tolist() for rank in (0, 1))
    assert first[1:] == second
    assert (table.flags & int(Flag.UNMATCHED) > 0).tolist() == [True, False, False, False, False]
    assert any("1 collective calls lack members" in note for note in table.notes)
    assert table.attributes["communicators"] == {0: "a", 1: "b"}


def test_launches_of_two_ranks_share_no_number(tmp_path: Path) -> None:
    for rank in (0, 1):
        write(tmp_path / f"rank_{rank}.json", [kernel(1, 1, 1), kernel(3, 1, 2, ALL_REDUCE)], rank)
    table = read_chrome(tmp_path)
    kernels = table.corr[table.kind == Kind.KERNEL].tolist()
    assert len(set(kernels)) == 2
    assert not set(kernels) & set(table.corr[table.kind == Kind.COLL].tolist())
