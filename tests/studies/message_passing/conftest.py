"""The example programs built once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mlperf.studies.message_passing.programs import Programs, build_programs

if TYPE_CHECKING:
    from made_once import Once

EXAMPLES = Path(__file__).parents[3] / "examples" / "message_passing"


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory, made_once: Once) -> Programs:
    found: Programs = made_once("message-programs", lambda: build_programs(EXAMPLES, tmp_path_factory.mktemp("programs")))
    return found
