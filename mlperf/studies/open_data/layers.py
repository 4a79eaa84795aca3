"""Tasks A5, A6, A7 and A9: convolution and dense layers, forward or whole training step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.datasets import read_open
from mlperf.studies.open_data.forms import FAMILY, LOCAL_AND_BEST, Form, scored_by
from mlperf.studies.open_data.products import TERMS as PRODUCT_TERMS
from mlperf.studies.open_data.scoring.trial import Trial, device_rows, first_rows, seventy_thirty, shuffled_folds

CARDS = ("1080ti", "K40", "M60", "k80")
N_TRAIN, N_TEST = 7000, 1500
TERMS = (*PRODUCT_TERMS, "n_inputs")
OF_STEP = tuple(term for base in TERMS for term in (base, f"backward*{base}"))
SETTINGS = ("padding", "use_bias", "activation", "optimizer")

SQUARE_SIZES = ("subbatch_size", "maps_in", "maps_out", "input_size")
SQUARE = Form(TERMS, SQUARE_SIZES, (*SQUARE_SIZES, *TERMS[:4], "m", "k", "n_inputs"))
STEP_SIZES = ("subbatch_size", "input_size", "maps_in", "maps_out", "filter_size", "stride", "backward")
STEP_COLUMNS = [*STEP_SIZES, *SETTINGS, "m", "n", "k", "n_inputs"]
STEP = Form((*OF_STEP, "backward"), STEP_SIZES, (*STEP_SIZES, *SETTINGS, *TERMS[:4], "m", "k", "n_inputs"))
DENSE_SIZES = ("m", "n", "k")
# What an optimizer costs grows with the weights that it updates.
DENSE_TERMS = (
    *(term for base in PRODUCT_TERMS for term in (base, f"backward*{base}")),
    "optimizer",
    "activation",
    "optimizer:I(n*k)",
)
DENSE = Form(DENSE_TERMS, (*DENSE_SIZES, "optimizer"), (*DENSE_SIZES, "activation", "optimizer", *PRODUCT_TERMS[:4]))
SMALL_SIZES = ("subbatch_size", "width", "height", "maps_in", "maps_out", "filter_w", "filter_h", "stride_w")
SMALL = Form(TERMS, SMALL_SIZES, (*SMALL_SIZES, *TERMS[:4], "m", "k", "n_inputs"))


def as_products(frame: pd.DataFrame, out_pixels: pd.Series, filter_elements: pd.Series, in_pixels: pd.Series) -> pd.DataFrame:
    """Add ``m, n, k`` of the product after im2col, and ``n_inputs``, the elements that im2col reads."""
    return frame.assign(
        m=(frame["subbatch_size"] * out_pixels).astype(float),
        n=frame["maps_out"].astype(float),
        k=(frame["maps_in"] * filter_elements).astype(float),
        n_inputs=(frame["subbatch_size"] * frame["maps_in"] * in_pixels).astype(float),
    )


def square_trial(device: str, folder: Path | None) -> Trial:
    """3 x 3 convolutions, forward."""
    frame = device_rows(read_open("neusight", "conv", folder), device, list(SQUARE_SIZES))
    pixels = frame["input_size"] ** 2
    rows = as_products(frame, pixels, frame["filter_size"] ** 2, pixels)
    columns = [*SQUARE_SIZES, "m", "n", "k", "n_inputs"]
    return Trial("A5", device, rows[columns], rows["time_s"].to_numpy(), seventy_thirty(len(rows)), len(TERMS))


def output_size(size: pd.Series, filter_size: pd.Series, stride: pd.Series, padded: pd.Series) -> pd.Series:
    """Side of the output of a convolution: TensorFlow's SAME where ``padded``, else VALID."""
    same, valid = np.ceil(size / stride), np.ceil((size - filter_size + 1) / stride)
    return pd.Series(np.where(padded == 1, same, valid), index=size.index)


def step_rows(device: str, folder: Path | None) -> pd.DataFrame:
    """Convolution layers of one card, forward or training step, in file order; settings as categories."""
    frame = device_rows(read_open("mlpredict_cdec", "convolution", folder), device)
    side = output_size(frame["input_size"], frame["filter_size"], frame["stride"], frame["padding"])
    rows = as_products(frame, side**2, frame["filter_size"] ** 2, frame["input_size"] ** 2)
    return with_settings(rows, SETTINGS)


def with_settings(rows: pd.DataFrame, settings: tuple[str, ...]) -> pd.DataFrame:
    """Settings as categories, and ``backward``, 1 for a training step."""
    backward = (rows["optimizer"] > 0).astype(float)
    return rows.assign(backward=backward, **{name: rows[name].astype(str) for name in settings})


def floor_of(rows: pd.DataFrame) -> float:
    """Median coefficient of variation of the repeats behind a row."""
    return float((rows["time_std_s"] / rows["time_median_s"]).median())


def in_file_order(task: str, device: str, rows: pd.DataFrame, columns: list[str], form: Form) -> Trial:
    """Random layers, the first of which train."""
    seconds, folds = rows["time_median_s"].to_numpy(), first_rows(len(rows), N_TRAIN, N_TEST)
    return Trial(task, device, rows[columns], seconds, folds, len(form.terms), noise_floor=floor_of(rows))


def step_trial(device: str, folder: Path | None) -> Trial:
    """Random convolution layers."""
    return in_file_order("A6", device, step_rows(device, folder), STEP_COLUMNS, STEP)


def dense_trial(device: str, folder: Path | None) -> Trial:
    """Random fully connected layers."""
    frame = device_rows(read_open("mlpredict_cdec", "dense", folder), device)
    rows = with_settings(frame, ("activation", "optimizer")).assign(
        m=frame["subbatch_size"].astype(float), n=frame["n_outputs"].astype(float), k=frame["n_inputs"].astype(float)
    )
    return in_file_order("A7", device, rows, [*DENSE_SIZES, "activation", "optimizer", "backward"], DENSE)


def small_trial(device: str, folder: Path | None) -> Trial:
    """The forward pass of at most 94 convolutions a device."""
    frame = device_rows(read_open("deepbench", "conv", folder), device)
    rows = as_products(
        frame, frame["out_w"] * frame["out_h"], frame["filter_w"] * frame["filter_h"], frame["width"] * frame["height"]
    )
    columns = [*SMALL_SIZES, "m", "n", "k", "n_inputs"]
    rows = rows.dropna(subset=["forward_s"]).drop_duplicates(subset=columns).reset_index(drop=True)
    return Trial("A9", device, rows[columns], rows["forward_s"].to_numpy(), shuffled_folds(len(rows)), len(TERMS))


score_square = scored_by(square_trial, SQUARE, LOCAL_AND_BEST)
score_steps = scored_by(step_trial, STEP, LOCAL_AND_BEST)
score_dense = scored_by(dense_trial, DENSE, (("stepwise", "mape"), ("best", "mape")), "stepwise", ("stepwise", *FAMILY))
score_small = scored_by(small_trial, SMALL, (("best", "mape"),), family=("WLS", *FAMILY))
"""Tasks A5, A6, A7 and A9."""
