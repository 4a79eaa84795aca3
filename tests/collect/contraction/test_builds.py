"""Compilers with options as a user writes them, and the C text they compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.collect.contraction.builds import Build, find_compilers, find_program, parse_build
from mlperf.collect.contraction.sources import kernel_source
from mlperf.core.errors import MissingExtraError, UsageError


def test_names_and_options() -> None:
    plain = parse_build("gcc -O2 -march=native")
    assert (plain.name, plain.compiler, plain.flags) == ("gcc_O2_march_native", "gcc", ("-O2", "-march=native"))
    named = parse_build("fast=/usr/bin/clang -O3 -mavx2")
    assert (named.name, named.compiler, named.flags) == ("fast", "/usr/bin/clang", ("-O3", "-mavx2"))
    assert named.machine_flags == ("-mavx2",)
    assert Build("b", "/usr/bin/gcc", ("-O2",), "12.2.0").compiler_flags == "gcc-12.2.0 -O2"


@pytest.mark.parametrize("text", ["", "gcc -O2 -flto", "gcc -S", "gcc '-O2", "my build=gcc -O2"])
def test_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected"):
        parse_build(text)


def test_absent_compilers_name_their_package() -> None:
    with pytest.raises(MissingExtraError, match="clang-99 is not installed") as caught:
        find_compilers([parse_build("clang-99 -O2")])
    assert "apt-get install clang" in str(caught.value.hint)
    with pytest.raises(UsageError, match="expected one or more"):
        find_compilers([parse_build("a=gcc"), parse_build("a=gcc -O2")])
    with pytest.raises(UsageError, match="tells no version"):
        find_compilers([parse_build("sh")])


def test_absent_valgrind_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(MissingExtraError, match="valgrind is not installed") as caught:
        find_program("valgrind")
    assert "apt-get install valgrind" in str(caught.value.hint)
    assert caught.value.exit_code == 6


def test_source_is_the_text_of_the_sweep(shared_data: Path) -> None:
    for file in sorted((shared_data / "simd_tensor" / "assembly" / "sources").glob("k_*.c")):
        pattern = file.stem.removeprefix("k_").replace("_", "-")
        assert kernel_source(pattern, "ijkl", 100) == file.read_text(encoding="utf-8")
