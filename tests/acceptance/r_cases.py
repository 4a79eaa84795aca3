"""Stored runs of R, read for the tests of the stepwise estimator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

FOLDER = Path(__file__).parents[1] / "reference" / "r_oracles"
IDS: tuple[str, ...] = tuple(json.loads((FOLDER / "index.json").read_text(encoding="utf-8")))
WORDS = {"NA": np.nan, "NaN": np.nan, "Inf": np.inf, "-Inf": -np.inf}


def read_case(name: str) -> tuple[dict[str, Any], pd.DataFrame]:
    """A case and its frame, factors with their levels in R's order."""
    case = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return case, read_frame(name, case["columns"])


def read_frame(name: str, columns: dict[str, Any]) -> pd.DataFrame:
    factors = {key for key, value in columns.items() if value["type"] in ("factor", "ordered")}
    frame = pd.read_csv(FOLDER / f"{name}.csv", keep_default_na=False, na_values=["NA"], dtype=dict.fromkeys(factors, str))
    for key in factors:
        frame[key] = pd.Categorical(frame[key], categories=columns[key]["levels"], ordered=columns[key]["type"] == "ordered")
    return frame


def options(case: dict[str, Any]) -> dict[str, Any]:
    """What ``from_formula`` is told of a case."""
    scope = case["scope"] or {}
    return {
        "lower": scope.get("lower"),
        "upper": scope.get("upper"),
        "direction": None if case["direction"] == "default" else case["direction"],
        "k": case["k"],
        "scale": case["scale"],
        "max_steps": case["steps"],
        "weights": case["weights"],
        "tol": case["tol"],
        "report": "none",
    }


def numbers(values: Any) -> np.ndarray:
    """R's numbers with NA, NaN and Inf as such."""
    flat = values if isinstance(values, list) else [values]
    return np.array([WORDS.get(value, value) if isinstance(value, str) else value for value in flat], dtype=np.float64)
