"""An absent optional package is named with its extra."""

from __future__ import annotations

import pytest

from mlperf.core.errors import MissingExtraError
from mlperf.core.extras import require


def test_what_is_there_is_imported_and_what_is_not_is_named() -> None:
    assert require("json.decoder", "report").__name__ == "json.decoder"
    with pytest.raises(MissingExtraError, match=r"mlperf-estimator\[report\]") as caught:
        require("no_such_package.part", "report")
    assert "no_such_package" in caught.value.message
    assert caught.value.exit_code == 6
