"""The TOML writer against the standard library's reader."""

from __future__ import annotations

import math
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlperf.core.documents import read_toml
from mlperf.core.errors import DataError
from mlperf.specs.network.toml import toml_text

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalars = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | texts
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=12)


@given(st.dictionaries(texts, values, max_size=5))
def test_reading_gives_back_what_was_written(table):
    assert tomllib.loads(toml_text(table)) == table


def test_layout_is_for_people():
    table = {
        "name": "net",
        "size": [1.5, 2],
        "software": {"cuda": "7.0"},
        "layers": [{"name": "a", "n": 1}, {"name": "b", "n": 2}],
        "absent": None,
    }
    assert toml_text(table, comment="Why.") == (
        "# Why.\n"
        'name = "net"\n'
        "size = [1.5, 2]\n"
        "layers = [\n"
        '    { name = "a", n = 1 },\n'
        '    { name = "b", n = 2 },\n'
        "]\n"
        "\n"
        "[software]\n"
        'cuda = "7.0"\n'
    )


def test_numbers_that_are_not_finite_survive():
    found = tomllib.loads(toml_text({"a": math.inf, "b": -math.inf, "c": math.nan}))
    assert (found["a"], found["b"]) == (math.inf, -math.inf)
    assert math.isnan(found["c"])


def test_a_value_without_a_form_is_an_error():
    with pytest.raises(DataError, match="key 'x'"):
        toml_text({"x": object()})


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"a = ", "end of document"), (b"a = 1\nb = \n", "line 2"), (b'a = "\xff"', "byte 0xff"), (None, "No such file")],
)
def test_unreadable_files_are_named(tmp_path, content, message):
    path = tmp_path / "spec.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_toml(path)
    assert caught.value.place == str(path)
    assert caught.value.hint
