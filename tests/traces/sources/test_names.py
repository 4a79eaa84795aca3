"""Names alone, for those who need no more."""

from __future__ import annotations

import subprocess
import sys

from mlperf.traces.sources.names import NAMES


def test_names_are_different_words() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert all(name == name.lower() for name in NAMES)


def test_they_cost_no_import() -> None:
    code = "import sys; import mlperf.traces.sources.names; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
