"""PAPI by its documented interface: a small library that keeps to it stands in for the real one."""

from __future__ import annotations

import ctypes.util
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlperf.collect.counters import papi
from mlperf.collect.counters.launch import launched
from mlperf.collect.counters.offers import ABSENT, DEGRADED
from mlperf.collect.counters.papi import library, probe_papi, watch_papi

# papi.h: PAPI_VER_CURRENT of 7.1 is 0x07010000, PAPI_ENOEVNT -7, PAPI_INHERIT 28; an event set begins as PAPI_NULL, -1.
STAND_IN = r"""
#include <string.h>
static int n, attached, inherited;
static char names[8][64];
int PAPI_library_init(int version) { return version == 0x07010000 ? version : -1; }
int PAPI_create_eventset(int *set) { if (*set != -1) return -1; *set = 3; n = 0; attached = inherited = 0; return 0; }
int PAPI_assign_eventset_component(int set, int component) { return set == 3 && component == 0 ? 0 : -1; }
int PAPI_attach(int set, unsigned long pid) { attached = set == 3 && pid > 1; return 0; }
int PAPI_set_opt(int option, int *value) { inherited = option == 28 && value[0] == 3 && value[1] == 1; return 0; }
int PAPI_add_named_event(int set, const char *name) {
    if (set != 3 || !strcmp(name, "PAPI_L3_TCM")) return -7;
    strcpy(names[n++], name);
    return 0;
}
int PAPI_start(int set) { return set == 3 && n ? 0 : -1; }
int PAPI_stop(int set, long long *values) {
    for (int i = 0; i < n; i++) values[i] = strlen(names[i]) + 100 * attached + 1000 * inherited;
    return set == 3 ? 0 : -1;
}
int PAPI_cleanup_eventset(int set) { return set == 3 ? 0 : -1; }
int PAPI_destroy_eventset(int *set) { return *set == 3 ? 0 : -1; }
char *PAPI_strerror(int code) { return code == -7 ? "Event does not exist" : "?"; }
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    """Whether the stand-in could be compiled and is what is found."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        yield False
        return
    (tmp_path / "papi.c").write_text(STAND_IN, encoding="ascii")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", "libpapi.so", "papi.c"], cwd=tmp_path, check=True)
    monkeypatch.setattr(ctypes.util, "find_library", lambda _: None)
    monkeypatch.setattr(papi, "LIBRARIES", (str(tmp_path / "libpapi.so"),))
    monkeypatch.setattr(papi, "events_at_once", lambda: 0)
    library.cache_clear()
    yield True
    library.cache_clear()


def test_presets_that_cannot_be_added_are_absent_in_papis_own_words(stand_in: bool) -> None:
    if not stand_in:
        return
    offer = probe_papi(["papi_tot_ins", "papi_l3_tcm"])
    assert [(each.name, each.status) for each in offer.counters] == [("papi_tot_ins", DEGRADED), ("papi_l3_tcm", ABSENT)]
    assert "Event does not exist" in offer.counters[1].why


def test_a_command_is_attached_with_its_children_and_values_find_their_columns(stand_in: bool) -> None:
    if not stand_in:
        return
    with launched(["true"]) as child:
        finish = watch_papi(child, ["papi_tot_ins", "papi_l3_tcm", "papi_tot_cyc", "papi_sr_ins"])
        child.release()
        child.wait()
        counted = finish(child)
    assert counted.values == {"papi_tot_ins": 1112.0, "papi_tot_cyc": 1112.0, "papi_sr_ins": 1111.0}


def test_a_library_of_a_version_that_is_not_known_is_absent(stand_in: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not stand_in:
        return
    monkeypatch.setattr(papi, "VERSIONS", ((3, 0),))
    assert probe_papi(["papi_tot_ins"]).status == ABSENT
