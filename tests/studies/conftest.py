"""Kernels of a few networks, for studies that train again and again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mlperf.datasets import Campaign, read_campaign

FEW = tuple(f"cnn{number:02}" for number in range(4))


@pytest.fixture(scope="session")
def few_networks(small_campaign: Path) -> Campaign:
    """Four plain networks of the small campaign at two sub-batch sizes."""
    whole = read_campaign(small_campaign)
    tables = {}
    for table in ("kernels", "steps"):
        rows = whole.table(table)
        tables[table] = rows[rows["cnn"].isin(FEW) & rows["subbatch_size"].isin([1, 2])].reset_index(drop=True)
    return replace(whole, cnns={name: whole.cnns[name] for name in FEW}, **tables)
