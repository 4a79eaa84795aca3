"""Option values: what they accept, what they become, what they say otherwise."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from mlperf.cli.framework.values import Counts, FoldCount, NameOrFile, NumberRange, Window, Words


def value(kind: click.ParamType, text: str) -> object:
    return kind.convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("8", (8,)), ("1,2,4", (1, 2, 4)), ("1:4", (1, 2, 3, 4)), ("1:8:3", (1, 4, 7)), ("4,1:2,4", (1, 2, 4)), ("3:3", (3,))],
)
def test_counts(text: str, numbers: tuple[int, ...]) -> None:
    assert value(Counts(), text) == numbers


@pytest.mark.parametrize("text", ["0", "-1", "a", "", "4:1", "1:2:3:4", "1,,2", "1:4:0", "1.5"])
def test_wrong_counts_are_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        value(Counts(), text)


def test_folds_are_none_or_at_least_two() -> None:
    assert [value(FoldCount(), text) for text in ("0", "2", "10")] == [0, 2, 10]
    for text in ("1", "-1", "a"):
        with pytest.raises(click.BadParameter):
            value(FoldCount(), text)


@pytest.mark.parametrize(
    ("text", "window"),
    [("103.5:172.5", (103.5, 172.5)), (":172.5", (0.0, 172.5)), ("100:", (100.0, float("inf"))), ("0:1", (0.0, 1.0))],
)
def test_window(text: str, window: tuple[float, float]) -> None:
    assert value(Window(), text) == window


@pytest.mark.parametrize("text", ["138", "172:103", "a:b", "-5:5", "5:5", "nan:3", ""])
def test_wrong_windows_are_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        value(Window(), text)


def test_what_is_no_number_is_in_no_range() -> None:
    """No comparison with it holds, so it is neither too small nor too large."""
    assert value(NumberRange(min=0, min_open=True), "0.5") == 0.5
    for text in ("nan", "0", "-1"):
        with pytest.raises(click.BadParameter, match="range x>0"):
            value(NumberRange(min=0, min_open=True), text)


def test_name_or_file(tmp_path: Path) -> None:
    kind = NameOrFile("CNN", lambda: ["vgg11", "vgg16", "resnet50"])
    file = tmp_path / "net.toml"
    file.write_text("", encoding="utf-8")
    assert value(kind, str(file)) == file
    assert value(kind, "vgg16") == "vgg16"
    with pytest.raises(click.BadParameter, match="Did you mean 'vgg16'"):
        value(kind, "vgg_16")
    with pytest.raises(click.BadParameter, match="does not exist"):
        value(kind, str(tmp_path / "other.toml"))


def test_names_complete() -> None:
    kind = NameOrFile("CNN", lambda: ["vgg11", "vgg16", "resnet50"])
    option = click.Option(["--cnn"])
    items = kind.shell_complete(click.Context(click.Command("x")), option, "vgg")
    assert [item.value for item in items] == ["vgg11", "vgg16", "vgg"]
    assert items[-1].type == "file"


def test_words_name_the_nearest() -> None:
    with pytest.raises(click.BadParameter, match="Did you mean 'convolution'"):
        value(Words(["paper", "second_moment", "convolution"]), "convoluton")


@pytest.mark.parametrize("text", ["1:10000000", "1:1000000000000", "99999999999999999999", "9" * 5000, "1:100000,1:100000:3"])
def test_counts_beyond_all_memory_are_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"expected (at most|counts)"):
        Counts().convert(text, None, None)


@pytest.mark.parametrize("text", ["y" * 5000, "vgg\x00", "-" * 300])
def test_a_name_that_no_file_system_takes_is_no_file(text: str) -> None:
    with pytest.raises(click.BadParameter, match="no CNN is called"):
        NameOrFile("CNN", lambda: ["vgg16"]).convert(text, None, None)
