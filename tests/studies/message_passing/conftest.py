"""The example programs built once."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.studies.message_passing.programs import Programs, build_programs

EXAMPLES = Path(__file__).parents[3] / "examples" / "message_passing"


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return build_programs(EXAMPLES, tmp_path_factory.mktemp("programs"))
