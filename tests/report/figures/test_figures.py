"""Letters and names of any kind in a picture."""

from __future__ import annotations

import warnings

import pytest

from mlperf.report.figures.figures import figure_bytes, in_short, single_axes

pytest.importorskip("matplotlib")


def test_a_long_name_keeps_its_beginning_and_its_end() -> None:
    assert in_short("resnet50") == "resnet50"
    assert in_short("x" * 32) == "x" * 32
    names = [f"a model of a long name, variant {number}" for number in range(10, 20)]
    assert {len(in_short(name)) for name in names} <= set(range(28, 33))
    assert len({in_short(name) for name in names}) == 10
    assert in_short("GPU v2 with an exceedingly long name (80 GB)", 16) == "GPU v2 w…(80 GB)"


def test_signs_of_any_script_are_drawn_without_a_word() -> None:
    """Where no font has them they are boxes, which a reader sees; a warning with a path of the package helps nobody."""
    with single_axes(2.0, 2.0) as (figure, axes), warnings.catch_warnings():
        axes.set_title("深層学習 сеть ξ हिन्दी")
        warnings.simplefilter("error")
        assert figure_bytes(figure, "png").startswith(b"\x89PNG")
