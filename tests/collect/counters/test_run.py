"""A command counted by every source: a compiled program with known accesses against what each source says."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from mlperf.collect.counters import CounterRequest, SimulatedCaches, count_command, probe_counters, write_counted
from mlperf.collect.counters.offers import ABSENT, OK, Probe, SourceOffer
from mlperf.collect.counters.probe import SOURCE_NAMES, USUAL, chosen_sources
from mlperf.collect.counters.run import groups_that_fit
from mlperf.core.errors import DataError, MissingExtraError, UsageError
from mlperf.datasets.dictionary.counters import COUNTERS, counters_of

pytestmark = pytest.mark.slow

WRITING = """
#include <stdlib.h>
static volatile char memory[1 << 24];
__attribute__((noinline)) void touch(long n) { for (long i = 0; i < n; i++) memory[64 * i] = 1; }
int main(int argc, char **argv) { (void)argc; touch(atol(argv[1])); return 0; }
"""
FEW, MANY = 50_000, 150_000
CACHES = SimulatedCaches("32768,8,64", "1048576,16,64")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """A program that writes one byte in each of so many lines; None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    folder = tmp_path_factory.mktemp("program")
    (folder / "writing.c").write_text(WRITING, encoding="utf-8")
    subprocess.run([compiler, "-O1", "-o", "writing", "writing.c"], cwd=folder, check=True)
    return folder / "writing"


@pytest.fixture(scope="module")
def probe() -> Probe:
    return probe_counters()


def difference(program: Path, probe: Probe, **request: object) -> pd.Series:
    def counted(lines: int) -> pd.Series:
        runs = count_command(CounterRequest((str(program), str(lines)), **request), probe=probe).runs
        return runs.select_dtypes("number").iloc[0]

    return (counted(MANY) - counted(FEW)).dropna()


def test_cachegrind_counts_every_write_and_every_miss(program: Path | None, probe: Probe) -> None:
    """Each further write touches a line of its own: as many misses of both caches, exactly, in the function that writes.

    The rest of the program misses a line more or less now and then, since its stack starts elsewhere in every run.
    """
    request = {"sources": ("cachegrind",), "caches": CACHES}
    if probe.named("cachegrind").status == ABSENT:
        with pytest.raises(MissingExtraError, match="valgrind"):
            count_command(CounterRequest(("true",), **request))
        return
    if program is None:
        assert count_command(CounterRequest(("true",), **request)).command_exit_code == 0
        return
    more = difference(program, probe, **request)
    for name in ("cg_Dw", "cg_D1mw", "cg_DLmw"):
        assert more[name] == pytest.approx(MANY - FEW, rel=1e-3), name
    counted = count_command(CounterRequest((str(program), str(FEW)), **request), probe=probe)
    assert counted.runs["cg_l1_bytes"].iloc[0] == 32768
    assert counted.functions is not None
    row = counted.functions.set_index("function").loc["touch"]
    assert tuple(row[["cg_Dw", "cg_D1mw", "cg_DLmw"]]) == (FEW, FEW, FEW)


def test_page_faults_by_every_source_that_counts_them(program: Path | None, probe: Probe) -> None:
    """64 lines of 64 bytes are a page of 4096: one fault for 64 further writes, unless the machine has larger pages."""
    if program is None:
        return
    more = difference(program, probe)
    pages = (MANY - FEW) * 64 / 4096
    said = [more[name] for name in ("sw_page_faults", "proc_minor_faults", "ru_minor_faults") if name in more]
    assert len(said) >= 2
    assert max(said) - min(said) <= 0.05 * pages
    assert max(said) <= 1.05 * pages


def test_instructions_by_the_processor_are_those_of_the_simulation(program: Path | None, probe: Probe) -> None:
    offer = probe.named("hardware")
    if program is None or "hw_instructions" not in offer.usable or probe.named("cachegrind").status == ABSENT:
        return
    hardware = difference(program, probe, sources=("hardware",))
    if "hw_instructions" not in hardware:
        return
    simulated = difference(program, probe, sources=("cachegrind",))
    assert hardware["hw_instructions"] == pytest.approx(simulated["cg_Ir"], rel=0.02)


def test_rows_have_labels_runs_and_only_counters_that_were_counted() -> None:
    counted = count_command(CounterRequest(("sh", "-c", "exit 4"), repeats=2, sources=("proc", "rusage"), labels={"size": "9"}))
    assert counted.command_exit_code == 4
    assert list(counted.runs.columns[:4]) == ["kernel", "size", "run", "exit_code"]
    assert list(counted.runs["kernel"]) == ["sh", "sh"]
    assert list(counted.runs["exit_code"]) == [4, 4]
    assert set(counted.runs.columns[4:]) <= {
        "scaled",
        "wall_s",
        *(each.name for kind in ("proc", "rusage") for each in counters_of(kind)),
    }


def test_the_processor_time_is_that_of_the_work() -> None:
    counted = count_command(
        CounterRequest(("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"), sources=("proc", "rusage"))
    )
    row = counted.runs.iloc[0]
    assert row["ru_cpu_s"] == pytest.approx(row["ru_user_s"] + row["ru_system_s"])
    assert row["ru_cpu_s"] <= row["wall_s"] * 1.1
    assert row["proc_run_s"] == pytest.approx(row["ru_cpu_s"], rel=0.2, abs=0.02)


def test_tables_grow_and_name_unit_and_source_of_every_column(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    first = count_command(CounterRequest(("true",), sources=("rusage",), labels={"kernel": "a"}))
    second = count_command(CounterRequest(("true",), sources=("proc",), labels={"kernel": "b", "machine": "here"}))
    write_counted(first, path)
    write_counted(second, path, append=True)
    table = pd.read_csv(path)
    assert list(table["kernel"]) == ["a", "b"]
    assert table.loc[0, "ru_minor_faults"] > 0
    assert pd.isna(table.loc[1, "ru_minor_faults"])
    assert pd.isna(table.loc[0, "machine"])
    known = pd.read_csv(tmp_path / "t.columns.csv", keep_default_na=False)
    assert list(known["column"]) == [name for name in table if name in COUNTERS]
    assert set(known["source"]) == {"clock", "rusage", "proc"}
    write_counted(first, path)
    assert len(pd.read_csv(path)) == 1


def test_rows_are_not_added_to_another_kind_of_table(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match="column run"):
        write_counted(count_command(CounterRequest(("true",), sources=("proc",))), path, append=True)
    assert path.read_text(encoding="utf-8") == "a,b\n1,2\n"


def test_a_wrong_cell_of_the_table_that_grows_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    counted = count_command(CounterRequest(("true",), sources=("rusage",), labels={"kernel": "07"}))
    write_counted(counted, path)
    write_counted(counted, path, append=True)
    assert pd.read_csv(path, dtype=str)["kernel"].tolist() == ["07", "07"]
    rows = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]
    rows[2][rows[0].index("wall_s")] = "soon"
    path.write_text("\n".join(map(",".join, rows)) + "\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        write_counted(counted, path, append=True)
    assert caught.value.place == f"{path}, line 3, column wall_s"
    assert "'soon'" in caught.value.message


def test_the_probe_asks_in_the_order_of_the_table_and_says_why_not(probe: Probe) -> None:
    assert tuple(offer.source for offer in probe.sources) == SOURCE_NAMES
    for offer in probe.sources:
        assert offer.status == OK or offer.why, offer.source
        assert all(each.status == OK or each.why for each in offer.counters)
    assert probe.named("rusage").status == OK
    assert probe.named("machine").why.startswith("the whole machine")


def test_what_is_not_asked_for_is_what_there_is_and_what_is_asked_for_must_be_there() -> None:
    there = [SourceOffer(name, OK, "", "", ()) for name in SOURCE_NAMES if name != "papi"]
    probe = Probe((*there, SourceOffer("papi", ABSENT, "not installed", "libpapi", ())))
    assert chosen_sources((), probe) == USUAL
    assert "cachegrind" in chosen_sources(("all",), probe)
    assert "papi" not in chosen_sources(("all",), probe)
    with pytest.raises(MissingExtraError, match="libpapi") as refused:
        chosen_sources(("proc", "papi"), probe)
    assert refused.value.exit_code == 6


def test_two_sources_that_need_the_processors_counters_have_a_run_each() -> None:
    columns = {"hardware": ["hw_cycles"], "papi": ["papi_tot_cyc"], "proc": ["proc_user_s"]}
    assert groups_that_fit(columns) == [{"hardware": ["hw_cycles"], "proc": ["proc_user_s"]}, {"papi": ["papi_tot_cyc"]}]
    assert groups_that_fit({"papi": ["papi_tot_cyc"]}) == [{"papi": ["papi_tot_cyc"]}]
    assert groups_that_fit({}) == []


def test_an_unknown_source_and_no_repeats_are_wrong_use() -> None:
    with pytest.raises(UsageError, match="cachegrind"):
        probe_counters(("cachegrnd",))
    with pytest.raises(UsageError, match="repeats"):
        CounterRequest(("true",), repeats=0)
