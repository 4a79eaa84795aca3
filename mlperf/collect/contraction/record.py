"""host.json and README.md of a campaign of contractions, the clock of its machine included."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mlperf.collect.contraction.builds import Build
from mlperf.collect.contraction.request import ContractionRequest
from mlperf.collect.protocol.host import FILE_NAME, check_same, host_record
from mlperf.core.errors import UsageError
from mlperf.core.files import write_text_whole
from mlperf.core.places import make_folder
from mlperf.core.proc import processor_facts
from mlperf.datasets.dictionary.contraction_schema import ROUNDS
from mlperf.datasets.reading.folder import read_host
from mlperf.datasets.reading.read import read_table

COUNTER = "hardware counter: user-mode cycles of each visit (perf_event_open)"
CHAIN = "time x frequency; frequency from a timed chain of dependent one-cycle instructions, median over rounds"
UNKNOWN = "unknown: neither a hardware counter nor a timed chain on this processor"


def clock_facts(chain_hz: Sequence[float], cycles_per_s: float) -> Mapping[str, Any]:
    """What host.json says of the clock.

    Parameters
    ----------
    chain_hz : sequence of float
        Frequencies by the chain, one a round; zeros where it does not know this processor.
    cycles_per_s : float
        Counted cycles over CPU seconds, median over visits; 0 without a counter.
    """
    chain = statistics.median(chain_hz) if chain_hz else 0.0
    source, frequency = (COUNTER, cycles_per_s) if cycles_per_s else (CHAIN, chain) if chain else (UNKNOWN, 0.0)
    return {"source": source, "frequency_hz": frequency, "chain_frequency_hz": chain, "chain_rounds_hz": list(chain_hz)}


SAME_FAMILY = ("rule", "ranks", "indices")
README = """# Tensor contractions on {machine}

{n_patterns} patterns A[..] += B[..] * C[..] ... of the rule `{rule}` over loops {indices}, float, row-major; extents {sizes}.
One kernel a translation unit, external arrays, N a compile-time constant; `N*/k_*.c` is the C text, `N*/BUILD/k_*.s` what the
compiler made of it.

**Protocol** rounds in random order over all kernels and builds, thread CPU clock, a new process of every program in each round;
the result zeroed and the operands read once before each visit; every visit's checksum compared with einsum (1e-5 relative).
Cycles: {clock}.

**Builds**

{builds}

**Columns** `mlperf data columns times`, `rounds`, `cachegrind`.
"""


def begin_record(request: ContractionRequest, builds: Sequence[Build], n_patterns: int) -> dict[str, Any]:
    """host.json at the start, joined with what earlier runs into the folder said.

    Raises
    ------
    UsageError
        Another machine, version, seed, family or compiler began the campaign.
    """
    path = make_folder(request.out) / FILE_NAME
    record = host_record(
        {
            "seed": request.seed,
            "clock": "CLOCK_THREAD_CPUTIME_ID",
            "order": "random over all kernels and builds, anew in each round",
            "visit": f"result zeroed, operands read once; then calls until {request.least_s:g} s of CPU time went by",
            "reference": "in-cache SGEMM 384 x 384 x 384, CPU time, once a second",
        },
        {},
    )
    record["host"]["machine"] = machine_name()
    record["caches"] = cache_facts()
    record["builds"] = {
        build.name: {
            "compiler": build.compiler,
            "version": build.version,
            "flags": list(build.flags),
            "compiler_flags": build.compiler_flags,
        }
        for build in builds
    }
    record["contractions"] = {
        "rule": request.rule_name,
        "ranks": list(request.rule.ranks),
        "indices": request.rule.indices,
        "sizes": list(request.sizes),
        "n_patterns": n_patterns,
    }
    # host.json comes with the clock at the end: a campaign that was killed has rounds without it.
    check_same(path, record, ())
    if path.is_file():
        known = read_host(path.parent)
        _check_family(path, known, record)
        record["builds"] = known["builds"] | record["builds"]
        for name, join in (("sizes", lambda old, new: sorted({*old, *new})), ("n_patterns", max)):
            record["contractions"][name] = join(known["contractions"][name], record["contractions"][name])
    return record


def _check_family(path: Path, known: Mapping[str, Any], record: Mapping[str, Any]) -> None:
    """Refuse to mix families, or two compilers under one name; UsageError: names the first difference."""
    before, now = known.get("contractions"), record["contractions"]
    if before is None:
        raise UsageError("belongs to a campaign of another kind", place=str(path), hint="Name another folder.")
    differences = [(f"contractions, {name}", before[name], now[name]) for name in SAME_FAMILY]
    differences += [
        (f"builds, {name}", known["builds"][name]["compiler_flags"], build["compiler_flags"])
        for name, build in record["builds"].items()
        if name in known["builds"]
    ]
    for place, old, new in differences:
        if old != new:
            raise UsageError(
                f"got {new!r}, expected {old!r} as in the campaign's first run",
                place=f"{path}, {place}",
                hint="Name another folder.",
            )


def machine_name() -> str:
    """Processor with family and model, which tell generations of one name apart: ``"AMD EPYC family 26 model 2"``."""
    facts = processor_facts()
    words = [facts.get("model name") or facts.get("CPU implementer", "unknown")]
    words += [f"{word} {facts[name]}" for word, name in (("family", "cpu family"), ("model", "model")) if name in facts]
    return " ".join(words)


def cache_facts() -> dict[str, dict[str, int]]:
    """Data and unified caches of the first core: ``{"l1d": {"size_bytes": 49152, "ways": 12, "line_bytes": 64}, ...}``."""
    found = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        if cache_fact(folder, "type") != "Instruction":
            name = f"l{cache_fact(folder, 'level')}{'d' if cache_fact(folder, 'type') == 'Data' else ''}"
            found[name] = {
                "size_bytes": int(cache_fact(folder, "size").rstrip("K")) * 1024,
                "ways": int(cache_fact(folder, "ways_of_associativity")),
                "line_bytes": int(cache_fact(folder, "coherency_line_size")),
            }
    return found


def cache_fact(folder: Path, name: str) -> str:
    """One word that the system says of a cache."""
    return (folder / name).read_text(encoding="ascii").strip()


def end_record(folder: Path, record: dict[str, Any], chain_hz: Sequence[float]) -> dict[str, Any]:
    """host.json with the clock, and README.md; returns the record."""
    path = folder / FILE_NAME
    earlier = read_host(folder).get("clock", {}).get("chain_rounds_hz", [])
    record["clock"] = clock_facts([*earlier, *chain_hz], counted_hz(folder))
    write_text_whole(path, json.dumps(record, indent=2, sort_keys=True) + "\n")
    family = record["contractions"]
    builds = "\n".join(f"- `{name}`: {build['compiler_flags']}" for name, build in sorted(record["builds"].items()))
    text = README.format(
        machine=record["host"]["machine"],
        clock=record["clock"]["source"],
        builds=builds,
        **{**family, "sizes": joined(family["sizes"])},
    )
    write_text_whole(folder / "README.md", text)
    return record


def joined(values: Sequence[int]) -> str:
    """Numbers for people."""
    return ", ".join(map(str, values))


def counted_hz(folder: Path) -> float:
    """Median over visits of counted cycles over CPU time; 0 where some visit has no count."""
    path = folder / "rounds.csv.gz"
    if not path.is_file():
        return 0.0
    rounds = read_table(path, ROUNDS)
    return float((rounds["cycles"] / rounds["cpu_s"]).median()) if (rounds["cycles"] > 0).all() else 0.0
