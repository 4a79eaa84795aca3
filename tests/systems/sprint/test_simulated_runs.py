"""What a simulation found is read, printed and described without the loops that made it."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd

from mlperf.systems.sprint.simulated_runs import SimulatedRuns


def test_its_table_is_what_is_shown() -> None:
    table = pd.DataFrame({"config": [0], "quantity": ["epoch_s"], "equations": [2.0], "simulated": [2.1]})
    assert SimulatedRuns("phases", 5000, table, (900,), (), ()).to_frame() is table


def test_no_compiled_loop_is_imported() -> None:
    code = "import sys; import mlperf.systems.sprint.simulated_runs; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
