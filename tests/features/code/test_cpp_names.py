"""Names of C++ functions, against the demangler of GNU binutils."""

from __future__ import annotations

import ctypes.util
import shutil
import subprocess
from pathlib import Path

import pytest

from mlperf.features.code import count_instructions
from mlperf.features.code.cpp_names import asked_for, without_parameters, written_name

RUNTIME = Path("/usr/lib/x86_64-linux-gnu/libstdc++.so.6")
# As c++filt -p -i of GNU binutils 2.40 writes them.
KNOWN = {
    "_ZN7picture5scaleEPfi": "picture::scale",
    "_ZN8pictures12_GLOBAL__N_15scaleIdEEvPKT_PS2_i": "pictures::(anonymous namespace)::scale<double>",
    "_ZNK8pictures2OpclERKSt6vectorIdSaIdEE": "pictures::Op::operator()",
    "_ZNK8pictures2OpcviEv": "pictures::Op::operator int",
    "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc": "std::operator<< <std::char_traits<char> >",
    "_ZNKSt10filesystem4path5beginEv": "std::filesystem::path::begin",
    "_ZZN1AC4EvENKUlvE_clEv": "A::A()::{lambda()#1}::operator()",
    "_ZNSsaSEPKc": "std::string::operator=",
    "_Znwm": "operator new",
    "_ZN1A3runEv.part.0": "A::run",
    "_ZThn8_N1A3runEi": "non-virtual thunk to A::run(int)",
    "decode_blocks": "decode_blocks",
    "_Z?": "_Z?",
}


def has_runtime() -> bool:
    return written_name("_Znwm") != "_Znwm"


@pytest.mark.skipif(ctypes.util.find_library("stdc++") is None, reason="no C++ runtime")
@pytest.mark.parametrize("symbol", KNOWN)
def test_the_written_name(symbol: str) -> None:
    assert has_runtime()
    assert written_name(symbol) == KNOWN[symbol]


@pytest.mark.parametrize(
    ("whole", "short"),
    [
        ("void f<int>(int)", "f<int>"),
        ("unsigned long const* a::b<c (*)(d)>(e) const &", "a::b<c (*)(d)>"),
        ("A::f() const::{lambda(int)#1}::operator()(int) const", "A::f() const::{lambda(int)#1}::operator()"),
        ("A::operator std::vector<int, B>() const", "A::operator std::vector<int, B>"),
        ("bool operator< <A>(A const&, A const&)", "operator< <A>"),
        ("A::operator->() const", "A::operator->"),
        ("A::operator()(int) [clone .cold]", "A::operator()"),
        ("decltype (f(g)) h::i<j>(k)", "h::i<j>"),
        ("a::(anonymous namespace)::value", "a::(anonymous namespace)::value"),
        ("b::cooperator(int)", "b::cooperator"),
    ],
)
def test_parameters_are_left_out(whole: str, short: str) -> None:
    assert without_parameters(whole) == short


@pytest.mark.skipif(not (RUNTIME.is_file() and shutil.which("nm") and shutil.which("c++filt")), reason="no GNU binutils for C++")
def test_every_name_of_the_cpp_library_as_binutils_write_it() -> None:
    listed = subprocess.run(["nm", "-D", "--defined-only", str(RUNTIME)], capture_output=True, text=True, check=True).stdout
    symbols = sorted({line.split()[-1].split("@")[0] for line in listed.splitlines() if line.split()[1] in "TWi"})
    symbols = [each for each in symbols if each.startswith("_Z")]
    assert len(symbols) > 1000
    theirs = subprocess.run(["c++filt", "-p", "-i"], input="\n".join(symbols), capture_output=True, text=True, check=True)
    names = [written_name(each) for each in symbols]
    assert names == theirs.stdout.splitlines()
    assert [each for each, name in zip(symbols, names, strict=True) if not asked_for((name,))(each)] == []


@pytest.mark.skipif(ctypes.util.find_library("stdc++") is None, reason="no C++ runtime")
def test_what_is_asked_for() -> None:
    scale, cold = "_ZN7picture5scaleEPfi", "_ZN7picture5scaleEPfi.cold"
    assert asked_for(("picture::scale",))(scale)
    assert asked_for((scale,))(scale)
    assert not asked_for(("scale",))(scale)
    assert not asked_for(("picture::scale",))(cold)
    assert asked_for((cold,))(cold)
    assert asked_for(())(cold)
    assert asked_for(("absent", "std::string::operator="))("_ZNSsaSEPKc")  # No word of the name stands in the symbol.


@pytest.mark.skipif(not shutil.which("c++"), reason="no C++ compiler")
def test_functions_are_counted_by_their_written_names(tmp_path: Path) -> None:
    source = "namespace n { void f(int* a) { *a += 1; } void f(float* a) { *a += 1; } void g() {} }"
    (tmp_path / "a.cpp").write_text(source)
    subprocess.run(["c++", "-O1", "-c", str(tmp_path / "a.cpp"), "-o", str(tmp_path / "a.o")], check=True)
    found = count_instructions(tmp_path / "a.o", functions=["n::f"])
    assert sorted(each.function for each in found) == ["_ZN1n1fEPf", "_ZN1n1fEPi"]
