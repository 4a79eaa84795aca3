"""What a user writes behind ``--assume``: ``wait(3:17)=0``, ``balance(step=2)``, ``compute(site=solve.c)*0.5``, ``latency=5us``."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable
from pathlib import Path

from mlperf.core.durations import number_in
from mlperf.core.errors import UsageError
from mlperf.core.suggest import did_you_mean, nearest_hint
from mlperf.systems.loggps.presets import PRESETS, find_preset
from mlperf.traces.replay.network_file import read_network
from mlperf.traces.replay.timing import Timing
from mlperf.traces.whatif.edits import END, EVENTS, SCALED, Edit, changed_timing

FORM = re.compile(r"\s*(?P<what>[a-z-]+)\s*\((?P<inside>[^()]*)\)\s*(?P<change>.*?)\s*")
PARAMETER = re.compile(r"\s*(?P<name>[a-z_-]+)\s*=\s*(?P<value>.+?)\s*")
CALL = re.compile(r"(?P<name>[a-z-]+)\s*\((?P<inside>[^()]*)\)")
PARAMETERS = {
    "latency": "latency_s",
    "overhead": "overhead_s",
    "gap": "gap_s",
    "gap-per-byte": "gap_s_per_byte",
    "eager-limit": "eager_limit_bytes",
}
"""Parameters of the network by the words of the command line."""
PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
BYTES = {"": 1.0, "b": 1.0, "kb": 1e3, "mb": 1e6, "kib": 1024.0, "mib": 1024.0**2}
EXAMPLES = "wait(3:17)=0, compute(site=solve.c:41)*0.5, length(name=MPI_Send)*2, balance(step=2), latency=5us, network=my.toml"


def read_edit(text: str, timing: Timing) -> Edit:
    """Read one assumption.

    Parameters
    ----------
    text : str
        ``WHAT(WHERE)=0`` or ``*FACTOR``; ``balance(...)``; ``PARAMETER=VALUE``. WHERE is ``RANK:INDEX`` (the INDEX-th communication
        event of a rank, from 0; of ``compute`` also ``RANK:end``), ``site=TEXT`` or ``name=TEXT`` (part of the call's place or
        name), ``region=NAME``, or nothing.
    timing : Timing
        What a parameter is changed of.

    Raises
    ------
    UsageError
        Says at which character it is not as expected.
    """
    form = FORM.fullmatch(text)
    if form:
        what = form["what"]
        if what == "balance":
            return _balance(text, form)
        if what in EVENTS:
            return _event(text, form)
        raise UsageError(
            f"{text!r}: at character 1, no edit {what!r}. {did_you_mean(what, (*EVENTS, 'balance'))}", hint=f"Such as {EXAMPLES}."
        )
    parameter = PARAMETER.fullmatch(text)
    if parameter:
        return _network(text, parameter["name"], parameter["value"], timing)
    raise UsageError(f"{text!r}: expected WHAT(WHERE)=0, WHAT(WHERE)*FACTOR or PARAMETER=VALUE", hint=f"Such as {EXAMPLES}.")


def _event(text: str, form: re.Match[str]) -> Edit:
    """An edit of events."""
    what, change = form["what"], form["change"]
    factor = 0.0
    scaled = re.fullmatch(r"\*\s*(\S+)", change)
    if scaled and what in SCALED:
        factor = _number(text, form.start("change") + 1, scaled[1])
    elif change != "=0" and change.replace(" ", "") != "=0":
        expected = "=0 or *FACTOR" if what in SCALED else "=0"
        raise UsageError(f"{text!r}: at character {form.start('change') + 1}, got {change!r}, expected {expected}")
    where = form["inside"].strip()
    edit = Edit(what, text.strip(), factor=factor)
    one = re.fullmatch(r"(\d{1,9}):(\d{1,12})", where)
    if one:
        return dataclasses.replace(edit, rank=int(one[1]), index=int(one[2]))
    last = re.fullmatch(r"(\d{1,9}):end", where)
    if last and what == "compute":
        return dataclasses.replace(edit, rank=int(last[1]), index=END)
    key, equals, value = where.partition("=")
    if not where and what in SCALED:
        return edit
    if equals and value and key.strip() in ("site", "name"):
        return dataclasses.replace(edit, site=value.strip())
    if equals and value and key.strip() == "region" and what in SCALED:
        return dataclasses.replace(edit, region=value.strip())
    one_more = " (or RANK:end)" if what == "compute" else ""
    expected = f"RANK:INDEX{one_more}, site=TEXT, name=TEXT" + (", region=NAME or nothing" if what in SCALED else "")
    raise UsageError(f"{text!r}: at character {form.start('inside') + 1}, got {where!r}, expected {expected}")


def _balance(text: str, form: re.Match[str]) -> Edit:
    """``balance(compute, region=PRGN, step=2)``; the paper's A4(k) balances both of a step."""
    if form["change"] not in ("", "=1"):
        raise UsageError(f"{text!r}: at character {form.start('change') + 1}, got {form['change']!r}, expected nothing")
    parts: list[str] = []
    region = ""
    steps: tuple[int, ...] = ()
    position = form.start("inside")
    for word in form["inside"].split(","):
        key, equals, value = (each.strip() for each in word.partition("="))
        if key in ("compute", "volume") and not equals:
            parts.append(key)
        elif key == "region" and value:
            region = value
        elif key == "step" and value:
            steps = _steps(text, position, value)
        elif word.strip():
            raise UsageError(
                f"{text!r}: at character {position + 1}, got {word.strip()!r}, expected compute, volume, region=NAME or step=K"
            )
        position += len(word) + 1
    both = not parts or len(set(parts)) == 2
    label = " & ".join(f"A4({step})" for step in steps) if both and steps else ""
    return Edit("balance", text.strip(), label, region=region, steps=steps, parts=tuple(parts) or ("compute", "volume"))


def _steps(text: str, position: int, value: str) -> tuple[int, ...]:
    """``2``, ``0:5`` (the last included) or ``all``."""
    if value == "all":
        return ()
    one = re.fullmatch(r"(\d{1,9})(?::(\d{1,9}))?", value)
    if one is None or int(one[2] or one[1]) < int(one[1]):
        raise UsageError(
            f"{text!r}: at character {position + 1}, got step {value!r}, expected K, FIRST:LAST or all; steps count from 0"
        )
    return tuple(range(int(one[1]), int(one[2] or one[1]) + 1))


def _network(text: str, name: str, value: str, timing: Timing) -> Edit:
    """A parameter of the network, or another network."""
    if name == "network":
        _refuse_unknown_before(text, timing)
        return Edit("network", text.strip(), timing=read_timing(value, timing))
    given = (_parameter(text, name, value, (*PARAMETERS, "network")),)
    return Edit("network", text.strip(), timing=changed_timing(timing, given), parameters=given)


def _refuse_unknown_before(text: str, timing: Timing) -> None:
    """Durations change by the difference of two networks: both must be known."""
    if is_observed(timing):
        hint = "Say --network as well: recorded durations change by how much the two networks differ."
        raise UsageError(f"{text!r}: the network that the trace was recorded on is not known", hint=hint)


def is_observed(timing: Timing) -> bool:
    """Whether nothing was said of the network: messages take what was recorded, and no time of their own."""
    parameters = timing.parameters
    nothing = parameters.latency_s == parameters.overhead_s == parameters.gap_s_per_byte == 0.0
    return timing.preset.name == "protocol" and nothing


def _parameter(text: str, name: str, value: str, known: Iterable[str] = PARAMETERS) -> tuple[str, float]:
    """One parameter of `LogGPS` and its value."""
    word = name.replace("_", "-")
    if word not in PARAMETERS:
        position = text.find(name) + 1
        found = f"{text!r}: at character {position}, no parameter {name!r}. {did_you_mean(word, known)}"
        raise UsageError(found, hint=f"Such as {EXAMPLES}.")
    position = text.find(value, text.find(name) + len(name)) + 1
    return PARAMETERS[word], _quantity(text, position, value, in_bytes=PARAMETERS[word].endswith("_bytes"))


def read_timing(network: str, timing: Timing, **parameters: float) -> Timing:
    """The timing of another network: a preset, or a file of ``mlperf collect loggps``.

    Parameters
    ----------
    network : str
        Name or path; a name with parameters is ``protocol(latency=5us, overhead=1us, gap-per-byte=1ns, eager-limit=64KiB)``.
    timing : Timing
        Whose other settings are kept.
    **parameters : float
        Of `LogGPS`, in place of the network's own.

    Raises
    ------
    UsageError
        It is neither.
    """
    called = CALL.fullmatch(network.strip())
    if called and not Path(network).is_file():
        given = [word.partition("=") for word in called["inside"].split(",") if word.strip()]
        parameters = {**dict(_parameter(network, name.strip(), value.strip()) for name, _, value in given), **parameters}
        network = called["name"]
    if network in PRESETS:
        preset = find_preset(network)
        return dataclasses.replace(timing, preset=preset, parameters=preset.parameters(**parameters))
    if not Path(network).is_file():
        raise UsageError(
            f"no network {network!r}: neither a file nor a preset",
            hint=nearest_hint(network, PRESETS) or f"Presets: {', '.join(PRESETS)}.",
        )
    preset, measured = read_network(network)
    return dataclasses.replace(timing, preset=preset, parameters=measured.replace(**parameters))


def _quantity(text: str, position: int, value: str, *, in_bytes: bool) -> float:
    """Seconds with their unit (0 needs none), or bytes with or without one: ``5us``, ``2e-9 s``, ``16 KiB``."""
    units, such_as = (BYTES, "16KiB") if in_bytes else (PER_SECOND, "5us")
    found = re.fullmatch(r"([0-9.]+(?:[eE][-+]?\d+)?)\s*([A-Za-z]*)", value)
    number = math.nan if found is None else _number(text, position, found[1])
    if found is None or (found[2].lower() not in units and not (number == 0.0 and not found[2])):
        hint = f"If seconds are meant: {value}s; units are {', '.join(PER_SECOND)}." if found and not found[2] else None
        message = f"{text!r}: at character {position}, got {value!r}, expected a number with a unit such as {such_as}"
        raise UsageError(message, hint=hint)
    unit = units.get(found[2].lower(), 1.0)
    return number * unit if in_bytes else number / unit


def _number(text: str, position: int, word: str) -> float:
    """A number of 0 or more."""
    number = number_in(word)
    if not 0.0 <= number < 1e12:
        raise UsageError(f"{text!r}: at character {position}, got {word!r}, expected a number of 0 or more")
    return number
