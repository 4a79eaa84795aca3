"""Run random programs under SimGrid SMPI and keep the ends of their ranks: ``python smpi_programs.py > smpi_programs.json``.

Needs ``smpirun`` (SimGrid 3.32) on the PATH. One FATPIPE link, hosts of 1 Gf (1 flop is 1 ns), full routes; the options switch off
what SMPI adds to LogGPS. Programs are lists of ``[compute_ns, "send" or "recv", message]`` by rank, messages ``[from, to, bytes]``.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

LATENCY_US, BANDWIDTH, LIMIT = 9.11, 5e8, 16384
SEND_S, SEND_S_PER_BYTE, RECV_S, RECV_S_PER_BYTE = 2.15e-6, 1.88e-9, 2.15e-6, 0.937e-9
N_PROGRAMS = 60
FIXTURE = (
    [[20000, "send", 0], [150000, "send", 3], [5000, "recv", 2], [1000, "recv", 4]],
    [[90000, "recv", 0], [30000, "send", 1], [10000, "send", 4], [70000, "recv", 5]],
    [[40000, "send", 2], [60000, "recv", 1], [20000, "recv", 3], [15000, "send", 5]],
)
FIXTURE_MESSAGES = [[0, 1, 1000], [1, 2, 100000], [2, 0, 4000], [0, 2, 65536], [1, 0, 16383], [2, 1, 16384]]

Ranks = list[list[list]]


def random_ranks(seed: int) -> tuple[Ranks, list[list[int]]]:
    """Messages in one global order; receives of eager ones put off, others of the same pair staying behind one another."""
    rng = random.Random(seed)
    n_ranks = rng.randint(2, 8)
    ranks: Ranks = [[] for _ in range(n_ranks)]
    messages, late = [], []

    def add(rank: int, what: str, message: int) -> None:
        ranks[rank].append([rng.randint(1, 200_000), what, message])

    for number in range(rng.randint(5, 77)):
        sender, receiver = rng.sample(range(n_ranks), 2)
        size = rng.choice((1, rng.randint(1, 3000), rng.randint(1, LIMIT), LIMIT - 1, LIMIT, rng.randint(LIMIT, 300_000)))
        messages.append([sender, receiver, size])
        add(sender, "send", number)
        if size < LIMIT and rng.random() < 0.4:
            late.append((receiver, number))
        else:
            add(receiver, "recv", number)
        while late and rng.random() < 0.3:
            add(late[0][0], "recv", late.pop(0)[1])
    for receiver, number in late:
        add(receiver, "recv", number)
    return ranks, messages


def platform_of(n_ranks: int) -> str:
    """Hosts that share one link without sharing its bandwidth."""
    hosts = "\n".join(f'    <host id="h{rank}" speed="1Gf"/>' for rank in range(n_ranks))
    pairs = [(one, other) for one in range(n_ranks) for other in range(one + 1, n_ranks)]
    routes = "\n".join(f'    <route src="h{one}" dst="h{other}"><link_ctn id="wire"/></route>' for one, other in pairs)
    link = f'    <link id="wire" bandwidth="{BANDWIDTH:.0f}Bps" latency="{LATENCY_US}us" sharing_policy="FATPIPE"/>'
    document = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
    head = '<platform version="4.1">\n  <zone id="z" routing="Full">'
    return f"{document}\n{head}\n{hosts}\n{link}\n{routes}\n  </zone>\n</platform>\n"


def simulate(ranks: Ranks, messages: list[list[int]], folder: Path) -> list[float]:
    """Seconds at which every rank ends."""
    files = []
    for rank, calls in enumerate(ranks):
        lines = [f"{rank} init"]
        for compute_ns, what, number in calls:
            sender, receiver, size = messages[number]
            other = receiver if what == "send" else sender
            lines += [f"{rank} compute {compute_ns}", f"{rank} {what} {other} {number} {size} 6"]
        files.append(folder / f"rank{rank}.txt")
        files[-1].write_text("\n".join([*lines, f"{rank} finalize"]) + "\n")
    (folder / "index").write_text("\n".join(map(str, files)) + "\n")
    (folder / "platform.xml").write_text(platform_of(len(ranks)))
    (folder / "hosts").write_text("\n".join(f"h{rank}" for rank in range(len(ranks))) + "\n")
    options = {
        "network/model": "CM02",
        "network/weight-S": 0,
        "network/latency-factor": 1,
        "network/bandwidth-factor": 1,
        "network/TCP-gamma": 0,
        "smpi/os": f"0:{SEND_S}:{SEND_S_PER_BYTE}",
        "smpi/or": f"0:{RECV_S}:{RECV_S_PER_BYTE}",
        "smpi/send-is-detached-thresh": LIMIT,
        "smpi/async-small-thresh": LIMIT,
        "smpi/host-speed": "1Gf",
        "smpi/wtime": 0,
        "tracing/precision": 15,
    }
    command = ["smpirun", "-np", str(len(ranks)), "-platform", "platform.xml", "-hostfile", "hosts"]
    command += ["-trace", "--cfg=tracing/filename:run.trace", *(f"--cfg={name}:{value}" for name, value in options.items())]
    command += ["-replay", "index"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return rank_ends((folder / "run.trace").read_text(), len(ranks))


def rank_ends(trace: str, n_ranks: int) -> list[float]:
    """When every rank leaves its last call before MPI_Finalize, from a Paje trace: there all wait for all."""
    lines = [line.split() for line in trace.splitlines() if line and not line.startswith(("%", "#"))]
    ranks = {words[2]: int(words[-1].strip('"').removeprefix("rank-")) for words in lines if words[0] == "6"}
    finalize = next(words[1] for words in lines if words[0] == "5" and words[3] == "smpi_replay_run_finalize")
    ends, done = [0.0] * n_ranks, set()
    for words in lines:
        if words[0] == "12" and words[4] == finalize:
            done.add(words[3])
        elif words[0] == "13" and words[3] not in done:
            ends[ranks[words[3]]] = float(words[1])
    return ends


def main() -> None:
    cases = []
    for seed in [None, *range(N_PROGRAMS)]:
        ranks, messages = (list(FIXTURE), FIXTURE_MESSAGES) if seed is None else random_ranks(seed)
        with tempfile.TemporaryDirectory() as folder:
            cases.append({"ranks": ranks, "messages": messages, "ends_s": simulate(ranks, messages, Path(folder))})
    version = subprocess.run(["smpirun", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    json.dump({"made_with": version, "cases": cases}, sys.stdout, separators=(",", ":"))
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
