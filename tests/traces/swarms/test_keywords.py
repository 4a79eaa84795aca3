from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.swarms.functions import collapse
from mlperf.traces.swarms.keywords import fitting_rules, read_rules

# Names as perf, strace and a profiler print them.
KNOWN = [
    ("intel_idle", "[kernel.kallsyms]", "idle"),
    ("epoll_wait", "", "idle"),
    ("Condition.wait (threading.py:295)", "/usr/lib/python3.11/threading.py", "idle"),
    ("__pthread_mutex_lock", "libc.so.6", "lock"),
    ("_raw_spin_unlock_irqrestore", "[kernel.kallsyms]", "lock"),
    ("take_gil", "python3.11", "lock"),
    ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "kernel", "nccl"),
    ("mlx5_eth_poll_rx_cq", "[mlx5_core]", "mlx5"),
    ("PMPI_Allreduce", "libmpi.so.12", "message passing"),
    ("PMPI_Sendrecv", "libmpi.so.12", "message passing"),
    ("tcp_sendmsg_locked", "[kernel.kallsyms]", "network"),
    ("Memcpy HtoD (Pinned -> Device)", "gpu_memcpy", "copies between host and device"),
    ("__memmove_avx_unaligned_erms", "libc.so.6", "memcpy"),
    ("clear_page_erms", "[kernel.kallsyms]", "memcpy"),
    ("jsimd_idct_islow_avx2", "libjpeg.so.62", "DCT"),
    ("decode_mcu_fast", "libjpeg.so.62", "decode"),
    ("inflate_fast", "libz.so.1", "decode"),
    ("sgemm_kernel_HASWELL", "libscipy_openblas64_.so", "gemm"),
    ("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm>(Params)", "kernel", "gemm"),
    ("cudnn::winograd_nonfused::winogradForwardData", "kernel", "convolution"),
    ("_MapDatasetFetcher.fetch (fetch.py:49)", "torch/utils/data/_utils/fetch.py", "loader"),
    ("gc_collect_main", "libpython3.11.so.1.0", "garbage collection"),
    ("_PyEval_EvalFrameDefault", "libpython3.11.so.1.0", "python interpreter"),
    ("pread64", "", "files"),
    ("asm_exc_page_fault", "[kernel.kallsyms]", "memory management"),
]
UNKNOWN = ["block_reduce", "clock_tree", "softmax_warp_forward", "blockwise_scale", "tokenize", "relu"]


def fitting(functions: list[str], files: list[str]) -> list[str]:
    """Rules by name."""
    strings = list(dict.fromkeys((*functions, *files)))
    number = {text: place for place, text in enumerate(strings)}
    name, name2 = ([number[text] for text in texts] for texts in (functions, files))
    # A weight of its own for each, so that their order stays.
    weight = np.arange(len(functions), 0, -1)
    events = event_table(len(functions), kind=int(Kind.SAMPLE), weight_ns=weight, name=name, name2=name2, strings=strings)
    rules = read_rules()
    return [rules[at].name if at >= 0 else "" for at in fitting_rules(collapse(events, 0, 1), rules).tolist()]


def test_known_functions_belong_to_their_swarms() -> None:
    found = fitting([row[0] for row in KNOWN], [row[1] for row in KNOWN])
    assert dict(zip([row[0] for row in KNOWN], found, strict=True)) == {row[0]: row[2] for row in KNOWN}


def test_words_inside_other_words_do_not_count() -> None:
    assert fitting(UNKNOWN, ["lib.so"] * len(UNKNOWN)) == [""] * len(UNKNOWN)


def test_own_rules_take_the_place_of_the_packages(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('[[swarm]]\nname = "tokens"\nrole = "compute"\nwords = ["TOKENI[SZ]E"]\nthreads = ["feeder"]\n')
    (rule,) = read_rules(path)
    assert (rule.name, rule.role, bool(rule.words.search("fast_tokenize"))) == ("tokens", "compute", True)
    assert rule.threads.search("feeder-3")
    assert not rule.files.search("anything")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "expected [[swarm]] tables"),
        ("swarm = 3", "expected [[swarm]] tables"),
        ('[[swarm]]\nwords = ["a"]', "has no name"),
        ('[[swarm]]\nname = "a"\nword = ["a"]', "got key 'word'"),
        ('[[swarm]]\nname = "a"\nrole = "gpu"\nwords = ["a"]', "got role 'gpu'"),
        ('[[swarm]]\nname = "a"\nwords = ["("]', "expected a regular expression"),
        ('[[swarm]]\nname = "a"\nwords = "b"', "expected a list of words"),
        ('[[swarm]]\nname = "a"', "has no words"),
    ],
)
def test_wrong_rules_are_told(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_rules(path)
    assert told in str(caught.value)
    assert "own.toml" in str(caught.value)
