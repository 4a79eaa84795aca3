from __future__ import annotations

import numpy as np
import pytest

from mlperf.traces.swarms.captions import captions, words_of


@pytest.mark.parametrize(
    ("symbol", "words"),
    [
        ("tcp_v4_do_rcv", ("tcp", "rcv")),
        ("memcpy@GLIBC_2.14", ("memcpy",)),
        ("page_fault.constprop.0.isra.3", ("page", "fault")),
        (
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)",
            ("nccl", "dev", "kernel", "all", "reduce", "sum", "ring", "comm"),
        ),
        ("void cub::DeviceScan<int, cub::Sum>(int*, Policy*)", ("cub", "device", "scan", "sum")),
        ("_ZN2at6native11gemm_kernelIfEEvPT_", ("native", "gemm", "kernel")),
        ("Loader.read_batch (train.py:90)", ("loader", "read", "batch")),
        ("at::native::(anonymous namespace)::softmax_warp<float>(float*)", ("native", "softmax", "warp")),
        ("0x7f00", ()),
        ("", ()),
        ("_Z99999", ()),
    ],
)
def test_words_of_names(symbol: str, words: tuple[str, ...]) -> None:
    assert words_of(symbol) == words


def test_telling_words_are_heavy_here_and_rare_elsewhere() -> None:
    functions = ["kernel_decode", "kernel_huffman", "kernel_gemm", "kernel_tail"]
    told = captions(functions, np.array([60.0, 40.0, 95.0, 5.0]), np.array([0, 0, 1, 1]), 2)
    assert told[0][0] == "decode"
    assert told[1][0] == "gemm"
    # A word that all have tells less than one of its own; one with 5 % of the time is not told.
    assert told[0].index("kernel") > told[0].index("decode")
    assert "tail" not in told[1]


def test_a_swarm_without_names_has_no_words() -> None:
    assert captions([""], np.array([1.0]), np.array([0]), 1) == ((),)
