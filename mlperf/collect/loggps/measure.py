"""One call that measures LogGPS parameters between two ranks and writes them as TOML: `collect_loggps`."""

from __future__ import annotations

import json
import math
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from mlperf.collect.loggps.fits import Fits, Line, eager_limit_bytes, fit, lines
from mlperf.collect.loggps.rank import EXPERIMENTS, FLOOD_BYTES
from mlperf.collect.loggps.request import TRANSPORTS, LogGPSRequest
from mlperf.collect.loggps.summary import MeasuredNetwork
from mlperf.collect.protocol.clocks import load_average, require_clocks
from mlperf.collect.trainer.launch import answer_of_ranks, mpiexec_command
from mlperf.core.arrays import FloatArray
from mlperf.core.files import write_text_whole
from mlperf.core.places import check_file_place

MODULE = "mlperf.collect.loggps.rank"
BUSY = 0.5
LARGEST_BYTES = 2**25
"""Sizes join until the largest is this or more."""
BETWEEN = 17
"""Sizes that are tried between the last that is sent at once and the first that waits."""
OVERLAP_NOTE = (
    "Half of a round trip is not longer than both overheads: sender and receiver work at the same time. L is written as 0; what "
    "arrives when is in the measured costs."
)
LIMIT_NOTE = "S lies from {0:.0f} to below {1:.0f} bytes, the two sizes tried around it; {0:.0f} is written."


def collect_loggps(request: LogGPSRequest) -> MeasuredNetwork:
    """Measure L, o, g, G and S between two ranks, and write the file that replays read.

    o_s(k) and o_r(k) are the times in Send and Recv when nothing has to be waited for; L = half of a round trip - o_s - o_r; G is
    the slope of half a round trip above S; g comes from a flood of small sends; S is the largest message that is sent while the
    receiver stays away. Each is the smallest of at least ten repeats (interruptions only add) but S, which most repeats decide;
    what blocks is made monotone in the size.

    Parameters
    ----------
    request : LogGPSRequest
        What to measure.

    Raises
    ------
    MissingExtraError
        mpi4py or mpiexec is absent.
    InterruptedRun
        A rank failed.
    """
    require_clocks()
    check_file_place(request.out)
    begun_s, load = time.monotonic(), load_average()
    sizes, times_s = around_the_limit(request)
    fits = narrowed(request, fit(sizes, times_s))
    notes = [LIMIT_NOTE.format(fits.eager_limit_bytes, fits.next_size_bytes)]
    if fits.latency_s == 0.0:
        notes.append(OVERLAP_NOTE)
    if load > BUSY:
        notes.append(f"The machine was busy (load {load:.2f}): measure again on an idle one.")
    write_text_whole(request.out, network_toml(fits, costs_of(sizes, times_s, fits), request, load))
    return MeasuredNetwork(
        *(str(request.out), request.transport, parameters_frame(fits), least_frame(sizes, times_s)),
        *(time.monotonic() - begun_s, tuple(notes)),
    )


def around_the_limit(request: LogGPSRequest) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Sizes and times of all experiments, with larger sizes than asked for until the two largest wait.

    Systems differ in how much a socket takes before anybody receives: some keep 300 kB, others megabytes.
    """
    sizes = np.array(request.sizes, dtype=float)
    times_s = measured_s(request, request.sizes, tuple(EXPERIMENTS))
    while sizes[-1] < LARGEST_BYTES and eager_limit_bytes(sizes, times_s["unreceived_send"])[0] >= sizes[-2]:
        larger = (int(2 * sizes[-1]), int(4 * sizes[-1]))
        more_s = measured_s(request, larger, tuple(EXPERIMENTS))
        sizes = np.append(sizes, larger)
        times_s = {name: np.concatenate((values, more_s[name])) for name, values in times_s.items()}
    return sizes, times_s


def narrowed(request: LogGPSRequest, fits: Fits) -> Fits:
    """S between the two sizes around it, by further sizes in between."""
    if not math.isfinite(fits.next_size_bytes):
        return fits
    sizes = np.unique(np.linspace(fits.eager_limit_bytes, fits.next_size_bytes, BETWEEN).astype(int))
    times_s = measured_s(request, tuple(sizes.tolist()), ("unreceived_send",))
    limit, following = eager_limit_bytes(sizes.astype(float), times_s["unreceived_send"])
    return replace(fits, eager_limit_bytes=limit, next_size_bytes=following) if limit else fits


def measured_s(request: LogGPSRequest, sizes: Sequence[int], experiments: Sequence[str]) -> dict[str, FloatArray]:
    """Times of experiments, shape (n_sizes, n_repeats) each."""
    launcher = [*mpiexec_command(request.mpiexec)]
    for name, value in TRANSPORTS[request.transport].items():
        launcher += ["-genv", name, value]
    result = answer_of_ranks(launcher, 2, MODULE, {"sizes": sizes, "repeats": request.repeats, "experiments": experiments})
    return {name: np.array(result["times_s"][name]) for name in experiments}


def least_frame(size_bytes: FloatArray, times_s: Mapping[str, FloatArray]) -> pd.DataFrame:
    """The smallest time of every experiment by size, NaN where it is not made: only the smallest message is sent in a flood."""
    least = pd.DataFrame({"size_bytes": size_bytes.astype(int)} | {name: values.min(axis=1) for name, values in times_s.items()})
    least.loc[size_bytes > FLOOD_BYTES, "flood"] = math.nan
    return least


def parameters_frame(fits: Fits) -> pd.DataFrame:
    """Parameters with units and standard errors."""
    nan = math.nan
    rows = [
        ("L", fits.latency_s, "s", fits.latency_std_err),
        ("o_s", fits.send.const_s, "s", fits.send.const_std_err),
        ("o_s per byte", fits.send.s_per_byte, "s/byte", fits.send.s_per_byte_std_err),
        ("o_r", fits.receive.const_s, "s", fits.receive.const_std_err),
        ("o_r per byte", fits.receive.s_per_byte, "s/byte", fits.receive.s_per_byte_std_err),
        ("g", fits.gap_s, "s", nan),
        ("G", fits.gap_s_per_byte, "s/byte", fits.sync_one_way.s_per_byte_std_err),
        ("S", fits.eager_limit_bytes, "bytes", nan),
    ]
    return pd.DataFrame(rows, columns=["parameter", "value", "unit", "std_err"])


def network_toml(fits: Fits, costs: Mapping[str, Line], request: LogGPSRequest, load: float) -> str:
    """The file: parameters by the names of LogGPS, and the measured costs of both kinds of messages as lines."""
    text = [
        "# LogGPS parameters measured between two ranks by mlperf collect loggps.",
        f"transport = {json.dumps(request.transport)}",
        f"host = {json.dumps(platform.node())}",
        f"repeats = {request.repeats}",
        f"load = {load!r}",
        "",
        "[parameters]",
    ]
    values: Mapping[str, float] = {
        "latency_s": fits.latency_s,
        "overhead_s": fits.send.const_s,
        "recv_overhead_s": fits.receive.const_s,
        "gap_s": fits.gap_s,
        "gap_s_per_byte": fits.gap_s_per_byte,
        "send_s_per_byte": fits.send.s_per_byte,
        "recv_s_per_byte": fits.receive.s_per_byte,
        "eager_limit_bytes": fits.eager_limit_bytes,
    }
    text += [f"{name} = {value!r}" for name, value in values.items()]
    text += ["", "# Medians as lines, in seconds: constant, and more with every byte; standard errors of both."]
    for name, part in costs.items():
        text += ["", f"[costs.{name}]", f"const_s = {part.const_s!r}", f"s_per_byte = {part.s_per_byte!r}"]
        text += [f"const_std_err = {part.const_std_err!r}", f"s_per_byte_std_err = {part.s_per_byte_std_err!r}"]
    return "\n".join(text) + "\n"


def costs_of(size_bytes: FloatArray, times_s: Mapping[str, FloatArray], fits: Fits) -> dict[str, Line]:
    """The six costs of a message: both calls without waiting, and from the send's call until the receiver can see the message.

    Medians, where the parameters are of the smallest times: a program meets what usually happens.
    """
    middle = {name: np.median(values, axis=1) for name, values in times_s.items()}
    parts = lines(size_bytes, fits.eager_limit_bytes, middle)
    send, receive, one_way, sync_send, sync_receive, _ = parts
    arrival = Line(
        max(0.0, one_way.const_s - receive.const_s),
        max(0.0, one_way.s_per_byte - receive.s_per_byte),
        math.hypot(one_way.const_std_err, receive.const_std_err),
        math.hypot(one_way.s_per_byte_std_err, receive.s_per_byte_std_err),
    )
    asking = Line(fits.send.const_s + fits.latency_s, 0.0, math.hypot(fits.send.const_std_err, fits.latency_std_err), math.nan)
    return {
        "eager_send": send,
        "eager_recv": receive,
        "eager_off": arrival,
        "sync_send": sync_send,
        "sync_recv": sync_receive,
        "sync_off": asking,
    }
