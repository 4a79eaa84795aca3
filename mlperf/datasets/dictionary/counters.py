"""The dictionary of counters: column, source, unit, what is counted, and one line for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

COUNT = "1"


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter of a finished run.

    Attributes
    ----------
    name : str
        Column; its beginning names the source (``hw_``, ``cg_``, ...).
    source : str
        Who counts: a key of ``SOURCES``.
    unit : str
        ``"1"`` for counts, ``"s"``, ``"bytes"``.
    quantity : str
        What is counted, the same word for every source; what features are made of. Empty where none is.
    doc : str
        One line for people.
    """

    name: str
    source: str
    unit: str
    quantity: str
    doc: str


PROCESSOR = (
    ("instructions", COUNT, "instructions", "instructions completed"),
    ("cycles", COUNT, "cycles", "clock cycles of the core"),
    ("branches", COUNT, "branches", "branch instructions completed"),
    ("branch_misses", COUNT, "branch_misses", "branches predicted wrongly"),
    ("l1d_load_misses", COUNT, "l1_load_misses", "loads that missed the first data cache"),
    ("l1d_loads", COUNT, "loads", "loads from the first data cache"),
    ("l1d_stores", COUNT, "stores", "stores to the first data cache"),
    ("cache_references", COUNT, "", "accesses to the last cache, as the processor defines them"),
    ("cache_misses", COUNT, "", "misses of the last cache, as the processor defines them"),
    ("llc_loads", COUNT, "", "loads that reached the last cache"),
    ("llc_load_misses", COUNT, "last_load_misses", "loads that missed the last cache"),
    ("dtlb_load_misses", COUNT, "tlb_load_misses", "loads without a translation at hand"),
    ("dtlb_loads", COUNT, "", "translations of data addresses for loads"),
    ("itlb_load_misses", COUNT, "", "instruction fetches without a translation at hand"),
    ("l1i_load_misses", COUNT, "fetch_misses", "instruction fetches that missed the first cache"),
    ("ref_cycles", COUNT, "", "clock cycles at the nominal frequency"),
    ("stalled_cycles_frontend", COUNT, "", "cycles without new instructions to execute"),
    ("stalled_cycles_backend", COUNT, "", "cycles in which execution waited"),
)

SYSTEM = (
    ("task_clock_s", "s", "cpu_s", "processor time of all threads"),
    ("page_faults", COUNT, "faults", "page faults"),
    ("minor_faults", COUNT, "", "page faults without input"),
    ("major_faults", COUNT, "", "page faults that read from a disk"),
    ("context_switches", COUNT, "switches", "changes to another thread"),
    ("cpu_migrations", COUNT, "", "moves to another core"),
    ("alignment_faults", COUNT, "", "unaligned accesses mended by the kernel"),
)

MODEL_SPECIFIC = (
    ("tsc", COUNT, "", "ticks of the time stamp counter while the threads ran"),
    ("aperf", COUNT, "", "clock cycles while the threads ran"),
    ("mperf", COUNT, "", "clock cycles at the nominal frequency while the threads ran"),
)

PAPI = (
    ("tot_ins", COUNT, "instructions", "PAPI_TOT_INS: instructions completed"),
    ("tot_cyc", COUNT, "cycles", "PAPI_TOT_CYC: clock cycles"),
    ("ld_ins", COUNT, "loads", "PAPI_LD_INS: load instructions"),
    ("sr_ins", COUNT, "stores", "PAPI_SR_INS: store instructions"),
    ("br_ins", COUNT, "branches", "PAPI_BR_INS: branch instructions"),
    ("br_msp", COUNT, "branch_misses", "PAPI_BR_MSP: branches predicted wrongly"),
    ("l1_dcm", COUNT, "l1_load_misses", "PAPI_L1_DCM: misses of the first data cache"),
    ("l2_dcm", COUNT, "", "PAPI_L2_DCM: data misses of the second cache"),
    ("l3_tcm", COUNT, "last_load_misses", "PAPI_L3_TCM: misses of the third cache"),
    ("tlb_dm", COUNT, "tlb_load_misses", "PAPI_TLB_DM: data addresses without a translation at hand"),
    ("fp_ops", COUNT, "", "PAPI_FP_OPS: floating-point operations"),
    ("vec_sp", COUNT, "", "PAPI_VEC_SP: single-precision vector instructions"),
    ("vec_dp", COUNT, "", "PAPI_VEC_DP: double-precision vector instructions"),
)

PROCESS = (
    ("user_s", "s", "", "/proc/PID/stat: time in the program, ticks of the kernel's clock"),
    ("system_s", "s", "", "/proc/PID/stat: time in the kernel, ticks of the kernel's clock"),
    ("minor_faults", COUNT, "", "/proc/PID/stat: page faults without input"),
    ("major_faults", COUNT, "", "/proc/PID/stat: page faults that read from a disk"),
    ("block_wait_s", "s", "", "/proc/PID/stat: waiting for block devices, ticks of the kernel's clock"),
    ("voluntary_switches", COUNT, "", "/proc/PID/status: waits of the first thread"),
    ("involuntary_switches", COUNT, "", "/proc/PID/status: interruptions of the first thread"),
    ("run_s", "s", "", "/proc/PID/schedstat: the first thread on a core"),
    ("queue_s", "s", "", "/proc/PID/schedstat: the first thread waiting for a core"),
    ("timeslices", COUNT, "", "/proc/PID/schedstat: turns of the first thread on a core"),
    ("read_chars_bytes", "bytes", "", "/proc/PID/io: returned by read calls"),
    ("write_chars_bytes", "bytes", "", "/proc/PID/io: given to write calls"),
    ("read_calls", COUNT, "", "/proc/PID/io: read calls"),
    ("write_calls", COUNT, "", "/proc/PID/io: write calls"),
    ("read_bytes", "bytes", "", "/proc/PID/io: fetched from storage"),
    ("write_bytes", "bytes", "", "/proc/PID/io: sent to storage"),
)

MACHINE = (
    ("user_s", "s", "", "/proc/stat: all cores in programs"),
    ("system_s", "s", "", "/proc/stat: all cores in the kernel"),
    ("idle_s", "s", "", "/proc/stat: all cores without work"),
    ("iowait_s", "s", "", "/proc/stat: all cores waiting for devices"),
    ("interrupt_s", "s", "", "/proc/stat: all cores in interrupts"),
    ("steal_s", "s", "", "/proc/stat: taken by other guests of the host"),
    ("switches", COUNT, "", "/proc/stat: changes of threads on all cores"),
    ("forks", COUNT, "", "/proc/stat: processes and threads begun"),
    ("page_faults", COUNT, "", "/proc/vmstat: page faults"),
    ("major_faults", COUNT, "", "/proc/vmstat: page faults that read from a disk"),
    ("page_in_bytes", "bytes", "", "/proc/vmstat: read from storage"),
    ("page_out_bytes", "bytes", "", "/proc/vmstat: written to storage"),
    ("swap_in_pages", COUNT, "", "/proc/vmstat: pages read from swap"),
    ("swap_out_pages", COUNT, "", "/proc/vmstat: pages written to swap"),
    ("cpu_pressure_s", "s", "", "/proc/pressure/cpu: some task waited for a core"),
    ("memory_pressure_s", "s", "", "/proc/pressure/memory: some task waited for memory"),
    ("io_pressure_s", "s", "", "/proc/pressure/io: some task waited for a device"),
)

USAGE = (
    ("user_s", "s", "", "wait4: time in the program"),
    ("system_s", "s", "", "wait4: time in the kernel"),
    ("cpu_s", "s", "cpu_s", "wait4: time in the program and in the kernel"),
    ("max_rss_bytes", "bytes", "", "wait4: largest resident memory of one process"),
    ("minor_faults", COUNT, "faults", "wait4: page faults without input"),
    ("major_faults", COUNT, "", "wait4: page faults that read from a disk"),
    ("input_blocks", COUNT, "", "wait4: blocks of 512 bytes read from storage"),
    ("output_blocks", COUNT, "", "wait4: blocks of 512 bytes written to storage"),
    ("voluntary_switches", COUNT, "switches", "wait4: waits"),
    ("involuntary_switches", COUNT, "", "wait4: interruptions"),
)

SIMULATED = (
    ("Ir", COUNT, "instructions", "instructions executed"),
    ("I1mr", COUNT, "fetch_misses", "instruction fetches that missed the first cache"),
    ("ILmr", COUNT, "", "instruction fetches that missed the last cache"),
    ("Dr", COUNT, "loads", "data reads"),
    ("D1mr", COUNT, "l1_load_misses", "data reads that missed the first cache"),
    ("DLmr", COUNT, "last_load_misses", "data reads that missed the last cache"),
    ("Dw", COUNT, "stores", "data writes"),
    ("D1mw", COUNT, "l1_store_misses", "data writes that missed the first cache"),
    ("DLmw", COUNT, "last_store_misses", "data writes that missed the last cache"),
    ("Bc", COUNT, "branches", "conditional branches"),
    ("Bcm", COUNT, "branch_misses", "conditional branches predicted wrongly"),
    ("Bi", COUNT, "", "indirect branches"),
    ("Bim", COUNT, "", "indirect branches predicted wrongly"),
)

GEOMETRY = (
    ("l1_bytes", "bytes", "", "simulated first data cache"),
    ("l1_ways", COUNT, "", "its lines in a set"),
    ("ll_bytes", "bytes", "", "simulated last cache"),
    ("ll_ways", COUNT, "", "its lines in a set"),
    ("line_bytes", "bytes", "line_bytes", "line of the simulated caches"),
)

RUN = (
    Counter("wall_s", "clock", "s", "wall_s", "monotonic clock from exec to the end of the command"),
    Counter("hw_running_share", "hardware", COUNT, "", "smallest share of the time that one of the events counted"),
    Counter("perf_running_share", "perf-stat", COUNT, "", "smallest share of the time that one of the events counted"),
)

SOURCES: Mapping[str, tuple[str, tuple[tuple[str, ...], ...]]] = {
    "hardware": ("hw_", PROCESSOR),
    "perf-stat": ("perf_", (*PROCESSOR, *SYSTEM)),
    "papi": ("papi_", PAPI),
    "software": ("sw_", SYSTEM),
    "msr": ("msr_", MODEL_SPECIFIC),
    "proc": ("proc_", PROCESS),
    "machine": ("machine_", MACHINE),
    "rusage": ("ru_", USAGE),
    "cachegrind": ("cg_", (*SIMULATED, *GEOMETRY)),
}
"""What the columns of a source begin with, and what it counts."""

LIMITED = frozenset(
    (
        *(f"{prefix}_{name}" for prefix in ("hw", "perf") for name, *_ in PROCESSOR),
        *(f"papi_{name}" for name, *_ in PAPI),
    )
)
"""Columns that need one of the processor's counters."""


def counters_of(source: str) -> tuple[Counter, ...]:
    """Every counter a source may offer, in the order of its columns."""
    prefix, counted = SOURCES[source]
    return tuple(Counter(prefix + name, source, unit, what, doc) for name, unit, what, doc in counted)


COUNTERS: Mapping[str, Counter] = {
    counter.name: counter for counter in (*RUN, *(each for source in SOURCES for each in counters_of(source)))
}
