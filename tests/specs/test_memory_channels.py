"""Memory of a socket, by published data sheets."""

from __future__ import annotations

import math

import pytest

from mlperf.specs.memory_channels import data_sheet_bytes_per_s, socket_memories

XEON = {"processor": "Intel(R) Xeon(R) CPU @ 2.60GHz", "cpu_vendor": "GenuineIntel", "cpu_family": 6}
EPYC = {"processor": "AMD EPYC 7B13", "cpu_vendor": "AuthenticAMD"}


@pytest.mark.parametrize(
    ("host", "gigabytes_per_s"),
    [
        # Largest memory bandwidth in the makers' own tables: E5-2680 v4 76.8, Rome and Milan 204.8, Genoa 460.8, Turin 614.
        ({**XEON, "cpu_model": 79, "cpu_stepping": 1}, 76.8),
        ({**XEON, "cpu_model": 85, "cpu_stepping": 4}, 127.97),
        ({**XEON, "cpu_model": 85, "cpu_stepping": 7}, 140.8),
        ({**XEON, "cpu_model": 143, "cpu_stepping": 8}, 307.2),
        ({**EPYC, "cpu_family": 25, "cpu_model": 1, "cpu_stepping": 0}, 204.8),
        ({**EPYC, "cpu_family": 25, "cpu_model": 17, "cpu_stepping": 1}, 460.8),
        ({**EPYC, "cpu_family": 26, "cpu_model": 2, "cpu_stepping": 1}, 614.4),
    ],
)
def test_known_processors(host: dict[str, object], gigabytes_per_s: float) -> None:
    assert data_sheet_bytes_per_s(host) / 1e9 == pytest.approx(gigabytes_per_s, rel=1e-3)


@pytest.mark.parametrize(
    "host",
    [
        {},
        {"processor": "aarch64"},
        {**XEON, "cpu_model": 85, "cpu_stepping": 9},
        {**XEON, "cpu_model": 85},
        {**XEON, "cpu_model": 1, "cpu_stepping": 1},
        {**EPYC, "processor": "AMD Ryzen Threadripper 3970X", "cpu_family": 23, "cpu_model": 49},
        {**EPYC, "cpu_family": "25", "cpu_model": [1]},
    ],
)
def test_others_are_unknown(host: dict[str, object]) -> None:
    assert math.isnan(data_sheet_bytes_per_s(host))


def test_every_generation_is_found_once() -> None:
    for each in socket_memories():
        host = {
            "cpu_vendor": each.vendor,
            "cpu_family": each.family,
            "cpu_model": each.model,
            "cpu_stepping": each.steppings[0] if each.steppings else 3,
            "processor": f"a {each.named}",
        }
        assert [other.generation for other in socket_memories() if other.fits(host)] == [each.generation]
        assert 5e10 < each.bytes_per_s < 1e12
