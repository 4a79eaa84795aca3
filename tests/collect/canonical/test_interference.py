"""Only what lies inside the time during which all processes ran is kept."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from mlperf.collect.canonical.cases import Case
from mlperf.collect.canonical.interference import common_blocks, together_s
from mlperf.core.errors import MlperfError

pytestmark = pytest.mark.slow


def test_blocks_outside_the_common_time_are_left_out() -> None:
    early = [(0.0, 1.0, 5.0), (1.0, 2.0, 1.0), (2.0, 3.0, 2.0)]
    late = [(1.0, 2.0, 3.0), (2.0, 3.0, 4.0), (3.0, 4.0, 9.0)]
    assert sorted(common_blocks([early, late])) == [1.0, 2.0, 3.0, 4.0]
    assert common_blocks([[(0.0, 1.0, 7.0)], [(5.0, 6.0, 8.0)]]) == [7.0, 8.0]


def test_a_process_of_its_own_times_every_case() -> None:
    cases = (Case("fc", "forward", (300, 200)), Case("fc", "forward", (600, 400)))
    small, large = (min(blocks) for blocks in together_s(cases, 1, n_blocks=3))
    assert 0.0 < small < large


def test_a_script_without_a_guard_is_told_at_once(tmp_path) -> None:
    """Each process imports the script, which would measure once more instead of taking part."""
    script = tmp_path / "measure.py"
    script.write_text(
        "from mlperf.collect.canonical.cases import Case\n"
        "from mlperf.collect.canonical.interference import together_s\n"
        "together_s([Case('fc', 'forward', (30, 20))], 1, n_blocks=3)\n"
    )
    begun_s = time.monotonic()
    path = os.pathsep.join(entry for entry in sys.path if entry)
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert time.monotonic() - begun_s < 60.0
    assert ran.returncode == 1
    assert "one of the measuring processes ended with code 1 before it had measured" in ran.stderr
    assert "under `if __name__ == '__main__':`" in ran.stderr


def test_a_process_that_fails_is_noticed_at_once() -> None:
    begun_s = time.monotonic()
    with pytest.raises(MlperfError, match="ended with code 1 before it had measured"):
        together_s([Case("fc", "forward", (-1, 20))], 1, n_blocks=3)
    assert time.monotonic() - begun_s < 60.0
