"""Hot functions of real object files, compiled with and without vector instructions."""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from made_recordings import MS, Made

from mlperf.features.code.counts import Tally
from mlperf.planning.advice.facts.loops import element_bits, loop_facts, offered_bits, scalar_share
from mlperf.traces.whole_run.steps import find_steps

DECODE = Path(__file__).parents[4] / "examples" / "whole_run" / "decode.c"
COMPILER = next((each for each in ("cc", "gcc", "clang") if shutil.which(each)), "cc")


def compiled(folder: Path, *flags: str) -> str:
    file = folder / "decode.so"
    subprocess.run([COMPILER, *flags, "-shared", "-fPIC", "-o", str(file), str(DECODE)], check=True)
    return str(file)


@pytest.mark.parametrize(("flags", "is_scalar"), [(("-O1", "-fno-tree-vectorize"), True), (("-O3",), False)])
def test_the_decoder_of_the_example(made: Callable[[], Made], tmp_path: Path, flags: tuple[str, ...], is_scalar: bool) -> None:
    file = compiled(tmp_path, *flags)
    maker, at = made(), 0
    for _ in range(10):
        begun, at = at, maker.marks(at, {"load": 50 * MS, "forward": 50 * MS})
        maker.samples(begun, at, "gemm", file="/none/blas.so")
        maker.samples(begun, at, "decode_blocks", tid=2, file=file)
    recording = maker.recording(cpu_flags="fpu sse2 avx2 asimd")
    found = {each.function: each for each in loop_facts(recording, find_steps(recording), 0.1)}
    decode = found["decode_blocks"]
    assert (decode.used_bits == 0) == is_scalar
    assert decode.share == pytest.approx(0.5)
    assert (decode.main_share, decode.other_share) == (0.0, 1.0)
    assert decode.offered_bits == 256
    if is_scalar:
        assert decode.scalar_share > 0.1
        assert decode.element_bits == 32
    assert "not on this machine" in found["gemm"].why


@pytest.mark.parametrize(("flags", "bits"), [("fpu sse2 avx avx2 avx512f", 512), ("sse2 avx", 256), ("asimd", 128), ("", 0)])
def test_vectors_by_the_processors_words(flags: str, bits: int) -> None:
    assert offered_bits(flags) == bits


def test_numbers_one_at_a_time() -> None:
    tally = Tally(10, {"mulsd": 2, "addss": 1, "mov": 7}, {"scalar_multiply": 2, "scalar_add": 1, "move": 7}, 0, 0, 0, 0, 0)
    assert scalar_share(tally) == pytest.approx(0.3)
    assert element_bits(tally) == 64
    assert element_bits(Tally(1, {"mov": 1}, {"move": 1}, 0, 0, 0, 0, 0)) == 0


CPP = """
namespace pictures { namespace {
template <typename T> __attribute__((noinline)) void scale(const T* __restrict in, T* __restrict out, int n)
{ for (int i = 0; i < n; i++) out[i] = in[i] * T(0.5) + out[i]; }
}
struct Filter {
__attribute__((noinline)) void operator()(float* out, int n) const { for (int i = 1; i < n; i++) out[i] *= out[i - 1]; }
};
void all(float* f, double* d, int n) { scale(f, f + n, n); scale(d, d + n, n); Filter()(f, n); } }
"""


@pytest.mark.skipif(not shutil.which("c++"), reason="no C++ compiler")
@pytest.mark.parametrize(("flags", "bits"), [(("-O1", "-fno-tree-vectorize"), 0), (("-O3",), 128)])
def test_functions_of_cpp_by_the_names_that_samplers_write(
    made: Callable[[], Made], tmp_path: Path, flags: tuple[str, ...], bits: int
) -> None:
    (tmp_path / "lib.cpp").write_text(CPP)
    file = str(tmp_path / "lib.so")
    subprocess.run(["c++", *flags, "-shared", "-fPIC", "-o", file, str(tmp_path / "lib.cpp")], check=True)
    names = ("pictures::(anonymous namespace)::scale<float>", "pictures::Filter::operator()", "pictures::absent")
    maker, at = made(), 0
    for _ in range(9):
        begun, at = at, maker.marks(at, {"forward": 90 * MS})
        for number, name in enumerate(names):
            maker.samples(begun + number * 30 * MS, begun + (number + 1) * 30 * MS, name, file=file)
    recording = maker.recording(cpu_flags="sse2 asimd")
    scale, recursion, absent = (
        next(each for each in loop_facts(recording, find_steps(recording), 0.1) if each.function == name) for name in names
    )
    assert scale.used_bits == bits
    assert (scale.scalar_share > 0.1) == (not bits)
    assert recursion.used_bits == 0  # Every value needs the one before it.
    assert recursion.scalar_share > 0.1
    assert absent.why.endswith("lib.so has no pictures::absent")


@pytest.mark.skipif(not shutil.which("c++"), reason="no C++ compiler")
def test_overloads_are_told_apart_by_nobody(made: Callable[[], Made], tmp_path: Path) -> None:
    """One of them uses vectors: nothing is said against the name."""
    body = "{ for (int i = 0; i < n; i++) out[i] = in[i] * 3 + out[i]; }"
    slow = '__attribute__((optimize("no-tree-vectorize")))'
    source = "\n".join(
        f"{how} void scale(const {of}* in, {of}* out, int n) {body}" for of, how in (("float", ""), ("double", slow))
    )
    (tmp_path / "lib.cpp").write_text(source)
    file = str(tmp_path / "lib.so")
    subprocess.run(["c++", "-O3", "-shared", "-fPIC", "-o", file, str(tmp_path / "lib.cpp")], check=True)
    maker, at = made(), 0
    for _ in range(4):
        begun, at = at, maker.marks(at, {"forward": 50 * MS})
        maker.samples(begun, at, "scale", file=file)
    (found,) = loop_facts(maker.recording(), find_steps(maker.recording()), 0.1)
    assert found.used_bits >= 128
    assert not found.why


@pytest.mark.skipif(platform.machine() != "x86_64" or not shutil.which("gcc"), reason="assembler text of x86-64")
def test_nothing_is_said_of_a_function_with_instructions_that_the_disassembler_does_not_know(
    made: Callable[[], Made], tmp_path: Path
) -> None:
    """A scalar addition beside one of 32 numbers of 16 bits, which capstone 5 does not know."""
    body = "addss %xmm1, %xmm0\n.byte 0x62,0xf5,0x74,0x48,0x58,0xc2\nret\n"
    (tmp_path / "k.s").write_text(f".text\n.globl f\n.type f,@function\nf:\n{body}.size f,.-f\n")
    file = str(tmp_path / "k.o")
    subprocess.run(["gcc", "-c", str(tmp_path / "k.s"), "-o", file], check=True)
    maker, at = made(), 0
    for _ in range(4):
        begun, at = at, maker.marks(at, {"forward": 50 * MS})
        maker.samples(begun, at, "f", file=file)
    (found,) = loop_facts(maker.recording(), find_steps(maker.recording()), 0.1)
    assert found.why == "1 instructions of it are newer than the disassembler"


def test_a_library_without_named_functions_is_not_read(made: Callable[[], Made], tmp_path: Path) -> None:
    (tmp_path / "lib.so").write_text("no library at all")
    maker, at = made(), 0
    for _ in range(4):
        begun, at = at, maker.marks(at, {"forward": 50 * MS})
        maker.samples(begun, at, "[unknown]", file=str(tmp_path / "lib.so"))
    found = loop_facts(maker.recording(), find_steps(maker.recording()), 0.1)
    assert [each.why.rpartition("/")[2] for each in found] == ["lib.so has no [unknown]"]


def test_without_samples_there_are_none(made: Callable[[], Made]) -> None:
    maker, at = made(), 0
    for _ in range(4):
        at = maker.marks(at, {"forward": 50 * MS})
    assert loop_facts(maker.recording(), find_steps(maker.recording()), 0.1) == ()
