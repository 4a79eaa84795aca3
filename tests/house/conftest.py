"""What the tests of the house share is given back with the last of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .source_tree import PACKAGE


@pytest.fixture(scope="package", autouse=True)
def forgotten() -> Iterator[None]:
    """A process that ends with a million parsed nodes looks for garbage among them for ten seconds."""
    yield
    for kept in ("trees", "nodes"):
        PACKAGE.__dict__.pop(kept, None)
