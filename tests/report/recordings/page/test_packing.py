"""Numbers and text as a page holds them."""

from __future__ import annotations

import base64
import json
import struct

import numpy as np
import pytest

from mlperf.report.recordings.page.packing import packed, script_json, unpacked


def test_bytes_are_little_endian_of_the_form() -> None:
    assert base64.b64decode(packed(np.array([1, 70_000]), "u4")) == struct.pack("<II", 1, 70_000)
    assert base64.b64decode(packed(np.array([1.5]), "f4")) == struct.pack("<f", 1.5)


@pytest.mark.parametrize(("form", "least", "most"), [("u1", 0, 255), ("u2", 0, 65_535), ("i4", -(2**31), 2**31 - 1)])
def test_what_does_not_fit_is_the_nearest_that_does(form: str, least: int, most: int) -> None:
    assert unpacked(packed(np.array([-(2**40), 7, 2**40]), form), form).tolist() == [least, 7, most]


def test_no_text_ends_the_script_and_all_is_read_back() -> None:
    document = {"name": "</script><script>alert(1)</script><!-- & \u2028 ü", "n": [1, 2.5]}
    text = script_json(document)
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == document


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_json({"value": float("nan")})
