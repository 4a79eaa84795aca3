"""The machine that a campaign's times were measured on: its processor, engine and build, to compare with others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mlperf.core.json_fields import Fields

if TYPE_CHECKING:
    from mlperf.datasets import Campaign

ENGINE_BUILDS = {"numpy": "blas", "torch": "torch", "cuda": "cuda"}
"""By engine, the entry of ``versions`` in host.json that decides how fast it is."""


@dataclass(frozen=True, slots=True)
class MeasuredOn:
    """Where times come from; a fact that nobody recorded is an empty text.

    Attributes
    ----------
    campaign : str
        Name of the campaign.
    processor : str
        What ran the training steps, as its maker calls it: the device, or the host's processor where there is no device.
    caches : str
        Its caches that a host records, because several processors share one name: ``"L1d 48 KiB, L2 2 MiB"``.
    engine : str
        What ran products and layers: ``numpy``, ``torch``, ``cuda``, ``runs``.
    build : str
        The library under it, without its version where that does not change the kernels.
    """

    campaign: str
    processor: str
    caches: str
    engine: str
    build: str

    @classmethod
    def of(cls, campaign: Campaign, engine: str) -> MeasuredOn:
        """What ``host.json`` of ``campaign`` says of the machine behind the rows of ``engine``."""
        host, versions = (_table(campaign.host, name) for name in ("host", "versions"))
        name = device_of(campaign.host)
        on_host = not name
        return cls(
            campaign.name,
            name or str(host.get("processor", "")),
            _caches(_table(host, "cache_bytes")) if on_host else "",
            engine,
            _build(str(versions.get(ENGINE_BUILDS.get(engine, "blas"), ""))),
        )

    @property
    def label(self) -> str:
        """For a sentence: ``"cpu-epyc (AMD EPYC)"``."""
        return f"{self.campaign} ({self.processor})" if self.processor else self.campaign

    def differences(self, other: MeasuredOn) -> tuple[str, ...]:
        """What of ``other`` was never seen here, each as ``"processor 'B', measured on 'A'"``; unrecorded facts do not differ."""
        pairs = ((name, getattr(self, name), getattr(other, name)) for name in ("processor", "caches", "engine", "build"))
        return tuple(_difference(name, own, asked) for name, own, asked in pairs if own and asked and not same_name(own, asked))

    def differs_from(self, processor: str | None) -> tuple[str, ...]:
        """The same of a machine of which at most the processor is known."""
        if not self.processor or not processor or same_name(self.processor, processor):
            return ()
        return (_difference("processor", self.processor, processor),)

    def to_dict(self) -> dict[str, str]:
        """JSON types."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_dict(cls, value: Any, path: str = "$.measured_on") -> MeasuredOn:
        """The inverse of `to_dict`; DataError with the JSON path of what is wrong."""
        with Fields(value, path) as fields:
            return cls(*(fields.text(name) for name in cls.__slots__))


def device_of(facts: Mapping[str, Any]) -> str:
    """Name of the device that ran the steps, from what ``host.json`` holds; empty where the host itself did."""
    device = _table(facts, "host").get("device") or _table(facts, "machine").get("device")
    name = device.get("name", "") if isinstance(device, Mapping) else device
    return "" if name in (None, "", "cpu") else str(name)


def same_name(one: str, other: str) -> bool:
    """Whether two names of a processor are one, but for case, blanks and marks such as ``(R)``."""
    return _bare(one) == _bare(other)


def _bare(name: str) -> str:
    return " ".join(name.casefold().replace("(r)", " ").replace("(tm)", " ").split())


def _difference(name: str, own: str, asked: str) -> str:
    return f"{name} {asked!r}, measured on {own!r}"


def _table(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get(name)
    return found if isinstance(found, Mapping) else {}


def _caches(sizes: Mapping[str, Any]) -> str:
    """Levels of a core alone: a last level is shared by as many cores as a virtual machine happens to get."""
    kib = {level: size // 1024 for level, size in sizes.items() if level != "L3" and isinstance(size, int)}
    return ", ".join(f"{level} {size} KiB" for level, size in sorted(kib.items()))


def _build(text: str) -> str:
    """``"openblas Haswell"`` of ``"openblas 0.3.31 Haswell, 1 thread"``: kernels decide, not the version."""
    words = text.partition(",")[0].split()
    return " ".join((words[0], *words[2:])) if len(words) > 2 else text
