from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable, concatenate, event_table
from mlperf.traces.swarms.swarms import SYNCHRONISATION, Swarms, find_swarms
from mlperf.traces.timeline.windows import Windows

S = 1_000_000_000
MS = 1_000_000
SPAN = 10 * S


def samples(
    start_ns: np.ndarray, names: list[str], files: list[str], code: np.ndarray, kind: Kind = Kind.SAMPLE, **columns: object
) -> EventTable:
    """Events of functions in files."""
    strings = list(dict.fromkeys((*names, *files)))
    number = {text: place for place, text in enumerate(strings)}
    order = np.argsort(start_ns, kind="stable")
    return event_table(
        len(start_ns),
        kind=int(kind),
        start_ns=start_ns[order],
        name=np.array([number[text] for text in names])[code[order]],
        name2=np.array([number[text] for text in files])[code[order]],
        strings=strings,
        sources=("planted",),
        **{"weight_ns": MS, "pid": 1, "tid": 1, **columns},
    )


def planted(seed: int, n_swarms: int, n_functions: int = 30) -> tuple[EventTable, dict[str, int]]:
    """Swarms that work in bursts of a period and phase of their own, two from each file, functions of very different weight."""
    rng = np.random.default_rng(seed)
    names: list[str] = []
    files: list[str] = []
    truth: dict[str, int] = {}
    start, code = [], []
    for swarm in range(n_swarms):
        period, share, phase = rng.uniform(0.5, 3.0) * S, rng.uniform(0.15, 0.5), rng.uniform()
        for function in range(n_functions):
            n = int(200 * rng.lognormal())
            when = (rng.integers(0, int(SPAN / period) + 1, n) + phase + rng.uniform(0, share, n)) * period
            when = when[when < SPAN].astype(np.int64)
            start.append(when)
            code.append(np.full(len(when), len(names)))
            names.append(f"swarm{swarm}_function{function}")
            files.append(f"lib{swarm // 2}.so")
            truth[names[-1]] = swarm
    return samples(np.concatenate(start), names, files, np.concatenate(code)), truth


@pytest.mark.parametrize(("seed", "n_swarms"), [(0, 2), (1, 4), (2, 6), (3, 8)])
def test_planted_swarms_are_found(seed: int, n_swarms: int) -> None:
    events, truth = planted(seed, n_swarms)
    found = find_swarms(events, 0, SPAN, rules=()).functions
    assert adjusted_rand_score([truth[name] for name in found["function"]], found["swarm"]) >= 0.9


def test_time_is_neither_lost_nor_counted_twice() -> None:
    events, _ = planted(4, 4)
    found = find_swarms(events, 0, SPAN)
    whole_s = len(events) * 1e-3
    assert found.swarms["time_s"].sum() == pytest.approx(whole_s)
    assert found.functions["time_s"].sum() == pytest.approx(whole_s)
    assert found.activity_s.sum() == pytest.approx(whole_s)
    assert found.swarms["share"].sum() == pytest.approx(1.0)
    assert found.swarms["n_events"].sum() == len(events)


def test_keywords_name_swarms_and_times_of_places_stay_apart() -> None:
    rng = np.random.default_rng(0)
    when = rng.integers(0, SPAN, 300)
    code = np.arange(300) % 3
    host = samples(when, ["sgemm_kernel", "jpeg_idct_islow", "pthread_mutex_lock"], ["libblas.so", "libjpeg.so", "libc.so"], code)
    device = samples(when, ["ampere_sgemm_128x64"], ["kernel"], np.zeros(300, int), Kind.KERNEL, duration_ns=2 * MS, device=0)
    found = find_swarms(concatenate([host, device]), 0, SPAN).swarms
    times = {(row["name"], row["place"]): row["time_s"] for row in found.to_dict("records")}
    assert times == pytest.approx(
        {("gemm", "processor"): 0.1, ("DCT", "processor"): 0.1, ("lock", "processor"): 0.1, ("gemm (device)", "device"): 0.6}
    )


def test_recurring_work_after_kernels_and_messages_is_offered_as_synchronisation() -> None:
    rng = np.random.default_rng(1)
    length = (100 * MS * rng.uniform(0.8, 1.2, 40)).astype(np.int64)
    end = np.cumsum(length)
    windows = Windows(0, np.arange(40), end - length, end, "planted")
    first = windows.start_ns + rng.integers(5 * MS, 20 * MS, 40)
    kernel = samples(first, ["volta_sgemm"], ["kernel"], np.zeros(40, int), Kind.KERNEL, duration_ns=8 * MS, device=0)
    sent = samples(first + 10 * MS, ["MPI_Send"], ["world"], np.zeros(40, int), Kind.SEND, duration_ns=4 * MS, rank=0)
    applied = np.sort((first[:, None] + np.arange(20, 30) * MS).reshape(-1))
    update = samples(applied, ["apply_average"], ["libtrainer.so"], np.zeros(len(applied), int))
    found = find_swarms(concatenate([kernel, sent, update]), 0, int(end[-1]), windows=windows)
    role = dict(zip(found.swarms["name"], found.swarms["role"], strict=True))
    assert role["apply average"] == SYNCHRONISATION
    assert role["gemm"] == "compute"
    assert role["message passing"] == "network"


def caption_of(found: Swarms, name: str) -> str:
    return str(found.swarms.set_index("name").loc[name, "caption"])


def test_captions_tell_words_file_and_share() -> None:
    rng = np.random.default_rng(2)
    early, late = rng.integers(0, SPAN // 4, 300), rng.integers(SPAN // 2, SPAN, 100)
    code = np.repeat([0, 1], (300, 100))
    events = samples(np.concatenate((early, late)), ["TokenizeSentence", "write_checkpoint"], ["libtok.so", "libsave.so"], code)
    found = find_swarms(events, 0, SPAN, rules=())
    assert caption_of(found, "tokenize sentence") == "tokenize, sentence in libtok.so, 75.0% of the time of processor"


def test_bursts_and_their_period_are_told() -> None:
    begin = np.arange(10) * S
    when = (begin[:, None] + np.arange(0, 100, 2) * MS).reshape(-1)
    events = samples(when, ["jpeg_idct_islow"], ["libjpeg.so"], np.zeros(len(when), int))
    row = find_swarms(events, 0, SPAN).swarms.iloc[0]
    assert (row["n_bursts"], row["period_s"]) == (10, pytest.approx(1.0))


def test_what_alternates_in_steps_is_told_apart_by_them() -> None:
    rng = np.random.default_rng(3)
    start = np.arange(400) * 25 * MS
    windows = Windows(0, np.arange(400), start, start + 25 * MS, "planted")
    names = [f"{part}_{number}" for part in ("forward", "backward") for number in range(4)]
    code = rng.integers(0, 8, 8000)
    when = start[rng.integers(0, 400, 8000)] + rng.integers(0, 12 * MS, 8000) + np.where(code < 4, 0, 12 * MS)
    events = samples(when, names, ["train.py"] * 8, code)
    found = find_swarms(events, 0, SPAN, rules=(), windows=windows).functions
    assert adjusted_rand_score([name.partition("_")[0] for name in found["function"]], found["swarm"]) == 1.0


def test_packets_are_a_swarm_of_the_network_without_time() -> None:
    events = event_table(5, kind=int(Kind.PACKET), start_ns=np.arange(5) * S, site=0, name2=1, strings=("a:1", "b:2"))
    row = find_swarms(events, 0, SPAN).swarms.iloc[0]
    assert (row["name"], row["role"], row["time_s"], row["n_events"]) == ("packets", "network", 0.0, 5)


def test_nothing_to_group_is_an_error() -> None:
    with pytest.raises(DataError, match="has no samples"):
        find_swarms(event_table(0), 0, S)
