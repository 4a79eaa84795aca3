"""Codes that are not there."""

from __future__ import annotations

import pytest

from mlperf.collect.canonical.build import check_code
from mlperf.core.errors import UsageError


def test_an_unknown_code_is_answered_with_the_known_ones() -> None:
    check_code("blas")
    with pytest.raises(UsageError, match="expected one of blas, scalar"):
        check_code("simd")
