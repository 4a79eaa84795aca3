"""A model of one device, asked about a machine with another one: the same model with times carried over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mlperf.specs.devices import device_sheet, sheet_of
from mlperf.specs.machine import MachineSpec
from mlperf.specs.zoo.zoo import load_cnn
from mlperf.training.gradient.gradient import GradientModel
from mlperf.training.gradient.other_device import OtherDevice
from mlperf.training.model import Model

REFERENCE, SUBBATCH_SIZE = "resnet50", 8
"""Whose 3 x 3 convolutions say what share of its peak the measured device reaches: of sizes as usual, few of which fill it."""
FILTER = 9
CONVOLUTIONS = ("conv_forward", "convolution")

UNKNOWN = "no data sheet of it is known: flop_per_s and device_bandwidth_bytes_per_s in its file let a GPU's times be carried over"


def model_on(model: Model, machine: MachineSpec) -> Model:
    """The model with the times of the machine's device, where both data sheets are known.

    Parameters
    ----------
    model : Model
        Of a campaign.
    machine : MachineSpec
        Asked about.

    Returns
    -------
    Model
        The same one where it was measured on the host's processor, knows runs, or a figure of either device is missing: then its
        times are told as those of another machine.
    """
    gradient = model.gradient if isinstance(model, Model) else None
    if not isinstance(gradient, GradientModel) or gradient.launches is None or model.runs is not None:
        return model
    if model.measured_on is None or not model.measured_on.differs_from(machine.processor):
        return model
    measured, asked = device_sheet(model.measured_on.processor), sheet_of(machine)
    if measured is None or asked is None or device_sheet(asked.name) == measured:
        return model
    reached = reached_flop_per_s(replace(gradient, device=None))
    if not reached > 0.0:
        return model
    device = OtherDevice.of(measured, reached / measured.flop_per_s, asked)
    return model if gradient.device == device else replace(model, gradient=replace(gradient, device=device))


def other_machine(model: Model, machine: MachineSpec) -> tuple[str, ...]:
    """How a machine differs from the one that was measured, and what was done about it or could be; empty where it does not."""
    differences = () if model.measured_on is None else model.measured_on.differs_from(machine.processor)
    device = model.gradient.device if isinstance(model.gradient, GradientModel) else None
    if device is not None:
        return (*differences, device.told)
    is_unknown = machine.device_memory_bytes is not None and sheet_of(machine) is None
    return (*differences, UNKNOWN) if differences and is_unknown else differences


def reached_flop_per_s(gradient: GradientModel) -> float:
    """Operations a second of the 3 x 3 convolutions of ResNet-50, 8 samples, forward: the median; NaN where they have no model."""
    calls = gradient.calls([(load_cnn(REFERENCE), SUBBATCH_SIZE)])
    calls = calls[calls["kernel"].isin(CONVOLUTIONS) & (calls["k"] % FILTER == 0)].reset_index(drop=True)
    if calls.empty or gradient.launches is None or not set(calls["kernel"]) <= set(gradient.kernels):
        return float("nan")
    seconds = gradient.launches.device_times(gradient.call_times(calls))
    operations = 2.0 * calls[["m", "n", "k"]].astype(float).prod(axis=1).to_numpy()
    return float(np.median(operations / np.maximum(seconds, 1e-9)))
