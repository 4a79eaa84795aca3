"""Times that one device took, carried over to another one by what the data sheets of both say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.specs.devices import DeviceSheet

REACHED, REACHED_LATER, LATER = 0.6, 0.28, 8.6
"""Share of a data sheet's peak that 3 x 3 convolutions reach on a device that nobody measured, in single precision.

The first is the median of kernels above 0.2 ms of PyTorch on P4, V100, T4 and A100 (0.51 to 0.69; NeuSight, Lee et al. 2025).
Devices from compute capability 8.6 on have peaks that such kernels come less near to: what the H100 of ``gpu-h100-layers`` reaches.
"""
REACHED_BANDWIDTH = 0.7
"""Share of the bandwidth that operations on vectors reach, on the same devices (0.71 to 0.85)."""
SPREAD = 0.25
"""Standard deviation of the logarithm of what a device takes over what is carried over to it, all its kernels alike."""

FORWARD_PASSES, BACKWARD_PASSES = 2.0, 3.0
"""Through memory, of an operation on maps: it reads one and writes one; backward it reads the gradient beside."""


@dataclass(frozen=True, slots=True)
class OtherDevice:
    """How long kernels take on a device that nobody measured.

    Attributes
    ----------
    name : str
        The device.
    product_ratio : float
        Seconds of a product there over seconds on the device that was measured.
    bandwidth_ratio : float
        Bandwidth of the measured device's memory over that of the other one.
    bandwidth_bytes_per_s : float
        What vectors reach there.
    """

    name: str
    product_ratio: float
    bandwidth_ratio: float
    bandwidth_bytes_per_s: float

    @classmethod
    def of(cls, measured: DeviceSheet, reached_flop: float, asked: DeviceSheet) -> OtherDevice:
        """From both data sheets.

        Parameters
        ----------
        measured, asked : DeviceSheet
        reached_flop : float
            Share of the measured device's peak that its 3 x 3 convolutions reach.
        """
        return cls(
            asked.name,
            reached_flop * measured.flop_per_s / (usual_share(asked) * asked.flop_per_s),
            measured.bandwidth_bytes_per_s / asked.bandwidth_bytes_per_s,
            REACHED_BANDWIDTH * asked.bandwidth_bytes_per_s,
        )

    def times(self, calls: pd.DataFrame, device_s: FloatArray) -> FloatArray:
        """Seconds of each call there.

        Products are as much slower as fewer operations a second are reached. Operations on vectors go through memory: they take as
        long as their bytes do there, and no less than here, or than here by the ratio of both memories where the other one is
        faster: what does not fill a large device does not wait for its memory either.

        Parameters
        ----------
        calls : DataFrame, shape (n_calls, ...)
            ``kernel``, ``m`` (0 of what is no product), ``access_bytes``.
        device_s : array, shape (n_calls,)
            Seconds of each call on the device that was measured.
        """
        passes = np.where(calls["kernel"].str.endswith("_forward"), FORWARD_PASSES, BACKWARD_PASSES)
        through_memory_s = passes * calls["access_bytes"].to_numpy(float) / self.bandwidth_bytes_per_s
        vectors_s = np.maximum(device_s * min(self.bandwidth_ratio, 1.0), through_memory_s)
        return np.where(calls["m"].to_numpy(float) > 0.0, self.product_ratio * device_s, vectors_s)

    @property
    def told(self) -> str:
        """For a sentence."""
        return (
            f"carried over by data sheets (products x {self.product_ratio:.2g}, memory x {self.bandwidth_ratio:.2g}; "
            "the host launches as measured)"
        )


def usual_share(asked: DeviceSheet) -> float:
    """Of its peak, what convolutions reach on a device that nobody measured."""
    is_later = asked.compute_capability is not None and asked.compute_capability >= LATER
    return REACHED_LATER if is_later else REACHED
