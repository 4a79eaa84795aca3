"""What a campaign does to the program that it runs in."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from mlperf.collect.protocol.protocol import living_left_alone


@pytest.fixture
def nothing_frozen() -> Iterator[None]:
    """As a command begins; the tests have set aside what they imported, and do so again afterwards."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.mark.usefixtures("nothing_frozen")
def test_what_lives_is_set_aside_while_one_measures() -> None:
    with living_left_alone():
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0


@pytest.mark.usefixtures("nothing_frozen")
def test_what_the_program_set_aside_stays_so() -> None:
    gc.freeze()
    before = gc.get_freeze_count()
    with pytest.raises(KeyError), living_left_alone():
        raise KeyError
    # Some of it may have ended meanwhile.
    assert gc.get_freeze_count() > 0.9 * before
