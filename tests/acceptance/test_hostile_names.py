"""Networks, machines, columns and labels with names that are markup, formulas, quotes, lines or control codes.

They stand in every page, drawing and table as they are written, and nothing takes them for anything else.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np
import pandas as pd
import pytest
from profiles import training_job

import mlperf
from mlperf.cli.main import main
from mlperf.core.printable import printable
from mlperf.report.figures.figures import new_figure, save_figure
from mlperf.report.figures.html import Picture, write_page
from mlperf.report.text.views import Section
from mlperf.specs import CnnSpec, write_cnn
from mlperf.specs.machine import write_machine

pytestmark = pytest.mark.slow

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "a\"b'c&amp;d",
    "two\nlines",
    "\x1b[31mred\x1b]0;title\x07",
    "[bold]x[/y]",
    "$x^{$",
    "--> ]]> <!--",
    "=cmd()|'/c'!A1",
    "\u202eevil",
)
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
NET = CnnSpec.from_sprint("tiny", 8, (1, 2, 3, 2), (2,), 2)


class Tags(HTMLParser):
    """Collects elements with their attributes, and the text between them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def run(*words: str | Path) -> str:
    said, told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(told), pytest.raises(SystemExit) as caught:
        main([str(word) for word in words])
    assert caught.value.code == 0, told.getvalue()
    if "--json" not in words:
        check_text(said.getvalue() + told.getvalue())
    return said.getvalue()


def check_text(text: str) -> None:
    """What a terminal shows: no control codes, and no name on two lines."""
    assert not CONTROL.search(text)
    assert "two\nlines" not in text


def check_page(path: Path) -> Tags:
    text = path.read_text(encoding="utf-8")
    check_text(text)
    tags = Tags()
    tags.feed(text)
    names = {tag for tag, _ in tags.found}
    assert not names & {"script", "img", "iframe", "bold"}
    assert not [attrs for _, attrs in tags.found if any(name.startswith("on") for name in attrs)]
    return tags


def check_drawing(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    check_text(text)
    assert not [each for each in Xml.fromstring(text).iter() if str(each.tag).rpartition("}")[2] in ("script", "img")]  # noqa: S314


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten networks with hostile names, and a model of their times."""
    folder = tmp_path_factory.mktemp("hostile")
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"net": np.repeat(HOSTILE, 9), "size": rng.uniform(1.0, 50.0, 9 * len(HOSTILE))})
    frame["time_s"] = (1.0 + frame["size"]) * np.exp(0.05 * rng.standard_normal(len(frame)))
    frame.to_csv(folder / "rows.csv", index=False)
    mlperf.save_model(mlperf.train(frame, target="time_s", terms=["size", "net"], method="ols", n_folds=3), folder / "model.json")
    return folder


@pytest.mark.filterwarnings("ignore:constrained_layout")
def test_labels_in_tables_pages_and_drawings(table: Path) -> None:
    shown = run("predict", table / "model.json", "--rows", table / "rows.csv", "--by", "net")
    for name in HOSTILE:
        assert printable(name) in shown
    page, drawing = table / "page.html", table / "plot.svg"
    run("report", table / "model.json", "--html", page)
    assert HOSTILE[0] in check_page(page).text
    run("compare", table / "model.json", table / "rows.csv", "--by", "net", "--plot", drawing)
    check_drawing(drawing)


def test_every_part_of_a_page_shows_names_as_they_are(tmp_path: Path) -> None:
    tables = [Section(name, pd.DataFrame({name: [name, 1.0]})) for name in HOSTILE if "\n" not in name]
    figure = new_figure()
    axes = figure.subplots()
    axes.barh(range(len(HOSTILE)), range(len(HOSTILE)), label=HOSTILE[0])
    axes.set_yticks(range(len(HOSTILE)), labels=HOSTILE)
    axes.set_title(HOSTILE[6])
    axes.legend()
    page = tmp_path / "page.html"
    write_page(page, HOSTILE[0], [*tables, Picture(HOSTILE[1], figure, HOSTILE[0])], lead=HOSTILE[4], footer=HOSTILE[0])
    tags = check_page(page)
    for section in tables:
        assert tags.text.count(printable(section.title)) >= 2
    save_figure(figure, tmp_path / "figure.svg")
    check_drawing(tmp_path / "figure.svg")


def test_records_hold_the_names_themselves(table: Path) -> None:
    result = json.loads(run("predict", table / "model.json", "--rows", table / "rows.csv", "--by", "net", "--json"))["result"]
    place = result["sums"]["columns"].index("net")
    assert {row[place] for row in result["sums"]["rows"]} == set(HOSTILE)


def test_columns_in_terms_pages_and_drawings(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    # The formula to paste into R or Python keeps a name's lines.
    names = [name for name in HOSTILE if "\n" not in name]
    frame = pd.DataFrame(rng.uniform(1.0, 9.0, (60, len(names))), columns=names)
    frame["time_s"] = frame[names[0]] + frame[names[2]] + frame[names[3]] + rng.uniform(0.9, 1.1, 60)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    run("train", tmp_path / "rows.csv", "--target", "time_s", "--method", "ols", "--folds", "3", "-o", tmp_path / "model.json")
    run("report", tmp_path / "model.json", "--html", tmp_path / "page.html", "--plot", tmp_path / "plot.svg")
    check_page(tmp_path / "page.html")
    check_drawing(tmp_path / "plot.svg")


def test_networks_and_machines_of_a_prediction(tmp_path: Path, small_model: Any) -> None:
    mlperf.save_model(small_model, tmp_path / "model.json")
    for number, name in enumerate(HOSTILE[:6]):
        write_cnn(CnnSpec(name, NET.input_maps, NET.input_size, NET.layers), tmp_path / f"{number}.toml")
    machine = replace(mlperf.specs.load_machine("kfc"), name="\x1b[31m<script>alert('m')</script>\nm")
    write_machine(machine, tmp_path / "machine.toml")
    cnns = [word for number in range(6) for word in ("--cnn", tmp_path / f"{number}.toml")]
    asked = ("--machine", tmp_path / "machine.toml", "--dataset-size", "1000", "--nodes", "2", "--subbatch", "2")
    shown = run("predict", tmp_path / "model.json", *cnns, *asked, "--plot", tmp_path / "plot.svg")
    check_drawing(tmp_path / "plot.svg")
    assert printable(HOSTILE[4]) in shown
    one = ("--cnn", tmp_path / "0.toml")
    run("predict", tmp_path / "model.json", *one, *asked, "--timeline", tmp_path / "threads.svg")
    check_drawing(tmp_path / "threads.svg")
    run("search", tmp_path / "model.json", *one, *asked[:4], "--minibatch", "1:100", "--plot", tmp_path / "map.svg")
    check_drawing(tmp_path / "map.svg")


def test_a_campaign_of_networks_with_such_names_is_measured_and_read(tmp_path: Path) -> None:
    names = [name for name in HOSTILE if "/" not in name and "\\" not in name]
    for number, name in enumerate(names):
        write_cnn(CnnSpec(name, NET.input_maps, NET.input_size, NET.layers), tmp_path / f"{number}.toml")
    cnns = [word for number in range(len(names)) for word in ("--cnn", tmp_path / f"{number}.toml")]
    for _ in range(2):
        run("collect", "kernels", "steps", "-o", tmp_path / "campaign", *cnns, "--subbatch", "1", "--rounds", "1")
    shown = run("data", "check", tmp_path / "campaign")
    assert "steps" in shown
    measured = mlperf.read_campaign(tmp_path / "campaign").table("steps")
    assert set(measured["cnn"]) == set(names)


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", ".hidden", "n" * 300])
def test_a_network_that_cannot_be_a_file_is_refused_before_anything_is_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_cnn(CnnSpec(name, NET.input_maps, NET.input_size, NET.layers), tmp_path / "net.toml")
    with pytest.raises(SystemExit) as caught:
        main(["collect", "steps", "-o", str(tmp_path / "out"), "--cnn", str(tmp_path / "net.toml"), "--rounds", "1"])
    assert caught.value.code == 2
    assert "expected the name of a file" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("words", ["report A", "diff A B", "table A B -o steps.csv", "scaling A B", "compare-runs A B"])
def test_recordings_whose_names_are_no_text(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if words.startswith("compare-runs"):
        made = tmp_path / "times.csv"
        pd.DataFrame({"step_s": np.random.default_rng(0).uniform(0.1, 0.11, 60)}).to_csv(made, index=False)
    else:
        made = sorted(training_job(tmp_path / "job", [[40.0, 90.0]] * 8)[0].iterdir())[0]
    named = {letter: str(tmp_path / f"{letter}\udcff{''.join(made.suffixes)}") for letter in "AB"}
    for path in named.values():
        shutil.copy(made, path)
    monkeypatch.chdir(tmp_path)
    arguments = [named.get(word, word) for word in words.split()]
    with pytest.raises(SystemExit) as left:
        main(arguments if arguments[0] == "compare-runs" else ["record", *arguments])
    assert left.value.code in (0, 1)
