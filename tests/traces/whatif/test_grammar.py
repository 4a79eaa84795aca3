"""What users write, and where it goes wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from stepped_programs import myrinet

from mlperf.core.errors import UsageError
from mlperf.systems.loggps import LogGPS, find_preset
from mlperf.traces.replay.timing import Timing
from mlperf.traces.whatif.edits import END, Edit, timing_after
from mlperf.traces.whatif.grammar import is_observed, read_edit, read_timing


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("wait(3:17)=0", Edit("wait", "wait(3:17)=0", rank=3, index=17)),
        ("duration( 0:5 ) = 0", Edit("duration", "duration( 0:5 ) = 0", rank=0, index=5)),
        ("compute(site=solve.c:41)*0.5", Edit("compute", "compute(site=solve.c:41)*0.5", factor=0.5, site="solve.c:41")),
        ("length(name=MPI_Send)*2", Edit("length", "length(name=MPI_Send)*2", factor=2.0, site="MPI_Send")),
        ("compute(region=PRGN)=0", Edit("compute", "compute(region=PRGN)=0", region="PRGN")),
        ("compute()*1e-1", Edit("compute", "compute()*1e-1", factor=0.1)),
        ("balance(step=2)", Edit("balance", "balance(step=2)", "A4(2)", steps=(2,))),
        ("balance(compute, step=0:2)", Edit("balance", "balance(compute, step=0:2)", steps=(0, 1, 2), parts=("compute",))),
        ("balance(region=swap, step=all)", Edit("balance", "balance(region=swap, step=all)", region="swap")),
    ],
)
def test_edits_are_read(text: str, expected: Edit) -> None:
    assert read_edit(text, myrinet()) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("wiat(3:17)=0", "at character 1, no edit 'wiat'.*wait"),
        ("wait(3;17)=0", "at character 6, got '3;17', expected RANK:INDEX, site=TEXT, name=TEXT"),
        ("wait(3:17)*2", r"at character 11, got '\*2', expected =0"),
        ("compute(3:17)*-2", "got '-2', expected a number of 0 or more"),
        ("compute(3:17)=1", r"at character 14, got '=1', expected =0 or \*FACTOR"),
        ("balance(stp=2)", "at character 9, got 'stp=2', expected compute, volume"),
        ("balance(compute, step=5:2)", "at character 17, got step '5:2'"),
        ("latancy=5us", "no parameter 'latancy'.*latency"),
        ("latency=5lightyears", "at character 9, got '5lightyears', expected a number with a unit"),
        ("latency=5KiB", "at character 9, got '5KiB', expected a number with a unit such as 5us"),
        ("network=nowhere", "no network 'nowhere': neither a file nor a preset"),
        ("hello", "expected WHAT"),
        (
            "latency=5",
            "a number with a unit such as 5us\n  hint: If seconds are meant: 5s; units are s, ms",
        ),
        ("", "expected WHAT"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_edit(text, myrinet())


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("latency=5us", "latency_s", 5e-6),
        ("overhead=2e-6s", "overhead_s", 2e-6),
        ("overhead=0", "overhead_s", 0.0),
        ("eager-limit=16KiB", "eager_limit_bytes", 16384.0),
        ("eager_limit=16KiB", "eager_limit_bytes", 16384.0),
        ("gap=2 ns", "gap_s", 2e-9),
    ],
)
def test_parameters_are_changed_and_the_others_kept(text: str, name: str, value: float) -> None:
    timing = read_edit(text, myrinet()).timing
    assert timing is not None
    assert getattr(timing.parameters, name) == pytest.approx(value)
    assert timing.parameters.replace(**{name: 0.0}) == myrinet().parameters.replace(**{name: 0.0})


def test_a_preset_may_need_parameters() -> None:
    with pytest.raises(UsageError, match="perwiz-ethernet needs latency_s"):
        read_timing("perwiz-ethernet", myrinet())
    assert read_timing("perwiz-ethernet", myrinet(), latency_s=57e-6).parameters.latency_s == 57e-6


def test_a_file_is_a_network(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("a = 1\n", encoding="utf-8")
    with pytest.raises(Exception, match=r"x\.toml.*has no table parameters"):
        read_timing(str(tmp_path / "x.toml"), myrinet())


def test_parameters_follow_a_preset_in_parentheses() -> None:
    timing = read_timing("protocol(latency=9us, overhead=2us, gap_per_byte=3ns, eager-limit=16KiB)", myrinet())
    assert timing.preset.name == "protocol"
    assert timing.parameters == LogGPS(9e-6, 2e-6, gap_s_per_byte=3e-9, eager_limit_bytes=16384.0, recv_overhead_s=2e-6)
    with pytest.raises(UsageError, match=r"at character 10, no parameter 'lattency'.*latency"):
        read_timing("protocol(lattency=9us)", myrinet())


def test_parameters_add_up_and_a_network_replaces_what_came_before() -> None:
    texts = ("latency=50us", "overhead=4us", "network=perwiz-ethernet(latency=57us)", "eager-limit=1KiB")
    edits = [read_edit(text, myrinet()) for text in texts]
    both = timing_after(myrinet(), edits[:2])
    assert both == Timing(myrinet().preset, myrinet().parameters.replace(latency_s=50e-6, overhead_s=4e-6))
    every = timing_after(myrinet(), edits)
    assert (every.preset.name, every.parameters.latency_s) == ("perwiz-ethernet", 57e-6)
    assert every.parameters.eager_limit_bytes == 1024.0


def test_what_would_change_nothing_is_refused() -> None:
    """Constants of Table 5 hold G; and a difference of networks needs both of them."""
    with pytest.raises(UsageError, match="network perwiz-myrinet has no gap_s_per_byte of its own"):
        read_edit("gap-per-byte=2ns", myrinet())
    observed = Timing(find_preset("protocol"), LogGPS(0.0, 0.0))
    assert is_observed(observed)
    with pytest.raises(UsageError, match="network that the trace was recorded on is not known"):
        read_edit("network=perwiz-myrinet", observed)


def test_what_follows_the_last_call_is_a_computation_only() -> None:
    assert read_edit("compute(3:end)*2", myrinet()) == Edit("compute", "compute(3:end)*2", factor=2.0, rank=3, index=END)
    with pytest.raises(UsageError, match="at character 6, got '3:end', expected RANK:INDEX, site=TEXT"):
        read_edit("wait(3:end)=0", myrinet())
