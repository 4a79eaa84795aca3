"""``mlperf trace`` what-ifs on a small run, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from stepped_programs import binary_swap

from mlperf.cli.main import main
from mlperf.traces.readers.registry import read_trace
from mlperf.traces.writers.alog import write_alog

pytestmark = pytest.mark.slow

COMMANDS = ("replay", "whatif", "domino", "balance", "bounds", "tolerance", "efficiency", "timeline")


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    write_alog(binary_swap(), tmp_path / "run.alog")
    return tmp_path / "run.alog"


def run(*arguments: object) -> object:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as left:
        main(["trace", *map(str, arguments)])
    return left.value.code


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_answers_first(command: str, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command, trace) == 0
    assert capsys.readouterr().out.startswith("alog run.alog")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_json(command: str, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command, trace, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["command"] == f"trace {command}"
    assert told["result"]


def test_assumptions_combine(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("whatif", trace, "--assume", "balance(step=1)", "--assume", "compute(region=PRGN)*0.5", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["result"]["assumptions"]["rows"]
    assert [row[0] for row in rows] == ["balance(step=1)", "compute(region=PRGN)*0.5", "all together"]
    assert rows[2][2] < min(rows[0][2], rows[1][2])


@pytest.mark.parametrize("command", ["replay", "whatif"])
def test_a_changed_run_is_written_and_asked_again(
    command: str, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The paper's L': a prediction is a trace."""
    assert run(command, trace, "--assume", "balance(step=1)", "--write-trace", tmp_path / "after.alog", "--json") == 0
    result = json.loads(capsys.readouterr().out)["result"]
    columns = result["assumptions"]["columns"]
    predicted = result["assumptions"]["rows"][-1][columns.index("time_s")]
    assert run("replay", tmp_path / "after.alog", "--json") == 0
    assert json.loads(capsys.readouterr().out)["result"]["measured_s"] == pytest.approx(predicted)
    assert len(read_trace(tmp_path / "after.alog")) == len(read_trace(trace))


def test_a_changed_run_opens_in_a_viewer(trace: Path, tmp_path: Path) -> None:
    assert run("whatif", trace, "--assume", "balance(step=1)", "--write-trace", tmp_path / "after.json") == 0
    events = json.loads((tmp_path / "after.json").read_text(encoding="utf-8"))["traceEvents"]
    assert len({each["pid"] for each in events if each["ph"] == "X"}) == read_trace(trace).n_ranks
    assert run("whatif", trace, "--write-trace", tmp_path / "after.zip") == 0
    assert (tmp_path / "after.zip").stat().st_size > 0


def test_another_network(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("whatif", trace, "--network", "perwiz-myrinet", "--assume", "latency=1ms") == 0
    assert "MORE" in capsys.readouterr().out
    assert run("replay", trace, "--network", "perwiz-ethernet") == 2
    assert "needs latency_s" in capsys.readouterr().err
    assert run("replay", trace, "--network", "perwiz-ethernet", "--latency", "57") == 0


def test_a_page_and_a_drawing(trace: Path, tmp_path: Path) -> None:
    page, drawing = tmp_path / "run.html", tmp_path / "run.svg"
    assert run("timeline", trace, "--assume", "balance(step=1)", "-o", page, "--plot", drawing) == 0
    assert "under the assumptions" in drawing.read_text(encoding="utf-8")
    text = page.read_text(encoding="utf-8")
    assert "<svg" in text
    assert "http://" not in text.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons", ""
    )


def test_shared_links(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("tolerance", trace, "--shared-link", "1e6") == 0
    assert "first sent, first served" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--assume", "wiat(0:0)=0"), 2, "no edit 'wiat'"),
        (("--assume", "wait(9:0)=0"), 2, "no rank 9, the run has 8"),
        (("--assume", "wait(0:0)=0"), 2, "0:0 does not wait"),
        (("--network", "nowhere"), 2, "neither a file nor a preset"),
    ],
)
def test_what_is_wrong_is_said(
    arguments: tuple[str, ...], code: int, message: str, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("whatif", trace, *arguments) == code
    assert message in capsys.readouterr().err


def test_no_region_of_that_name(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("balance", trace, "--region", "PRG") == 2
    assert "no region 'PRG'" in capsys.readouterr().err


@pytest.mark.parametrize(("command", "assumed"), [("domino", ()), ("whatif", ()), ("whatif", ("--assume", "balance(step=1)"))])
def test_answers_are_drawn_as_the_run_they_speak_of(command: str, assumed: tuple[str, ...], trace: Path, tmp_path: Path) -> None:
    drawing = tmp_path / "run.svg"
    assert run(command, trace, *assumed, "--plot", drawing) == 0
    assert ("under the assumptions" in drawing.read_text(encoding="utf-8")) == bool(assumed)
    assert "domino path" in drawing.read_text(encoding="utf-8")


def test_a_preset_with_its_parameters(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network = "protocol(latency=9us, overhead=2us, gap-per-byte=3ns, eager-limit=4KiB)"
    assert run("replay", trace, "--network", network) == 0
    assert "network protocol (L 9 us, o 2 us, G 3 ns/B, S 4096 B)" in capsys.readouterr().out


def test_without_a_network_lengths_are_said_to_change_nothing(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("whatif", trace, "--assume", "length()*0") == 0
    assert "No network was named" in capsys.readouterr().out
    assert run("whatif", trace, "--assume", "network=perwiz-myrinet") == 2
    assert "Say --network as well" in capsys.readouterr().err
