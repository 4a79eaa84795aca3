"""How the gain by characteristics is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlperf.report.text.numbers import percent_text
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from mlperf.studies.gain import CharacteristicGain


def gain_sections(result: CharacteristicGain) -> tuple[Section, ...]:
    """Left-out errors without and with each set, then what the figures mean."""
    table = result.table.rename(columns={"median": "median_error", "max": "max_error", "gain": "gain_mape"})
    text = (
        f"Gradient time of {result.n_cnns} left-out CNNs ({result.n_steps} pairs of CNN and sub-batch) of {result.campaign}, "
        f"method {result.method}; terms chosen by AIC inside each fold. The gain is the mean error without characteristics minus "
        f"that with them: below zero they hurt. Medians of odd and of even rounds differ by {percent_text(result.noise_floor)}."
    )
    return (Section("Left-out error by candidate terms", table), Section("", text=text))
