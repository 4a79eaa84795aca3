"""The forms of an exchange as sections: every candidate, the paper's verdict, both R²."""

from __future__ import annotations

import numpy as np
import pandas as pd
from rich.console import Console

from mlperf.report.pages.exchange import exchange_answer, exchange_sections
from mlperf.report.text.views import WIDE, section_text
from mlperf.training.collectives.exchange_forms import FORMS
from mlperf.training.collectives.train_exchange import train_exchange


def test_every_form_is_listed_and_the_paper_is_rejected() -> None:
    n, size = (each.ravel() for each in np.meshgrid([2.0, 4.0, 8.0], 2.0 ** np.arange(12, 28, 2)))
    time_s = 2.0 * (n - 1.0) * (1e-5 + size / (n * 2e10))
    model = train_exchange(pd.DataFrame({"n_gpus": n, "size_bytes": size, "time_s": time_s}))
    console = Console(width=WIDE, no_color=True)
    text = "\n".join(section_text(section, console) for section in exchange_sections(model))
    for form in FORMS:
        assert form.name in text
    (paper,) = [line for line in text.splitlines() if line.strip().startswith("paper ") and "with" not in line]
    assert "rejected" in paper
    assert f"{model.r2_adj:.3f} about the mean" in text
    assert f"{model.r2_uncentred:.3f} about zero" in text
    answer = exchange_answer(model)
    assert "rejected" in str(answer)
    assert model.measured.form.name in str(answer)
