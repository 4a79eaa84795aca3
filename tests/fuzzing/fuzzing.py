"""One case: a valid input damaged by a seed, read under limits of time, memory and noise, and judged."""

from __future__ import annotations

import dataclasses
import math
import os
import random
import resource
import signal
import traceback
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import click
import numpy as np
import pandas as pd

from mlperf.core.errors import MlperfError

from .mutations import mutated
from .readers import Reader

LIMIT_S = 20.0
MORE_BYTES = 3 * 2**30
MOST_WARNINGS = 5
LONG_AGO_S = 1e9
ALLOWED = (MlperfError, click.ClickException)


class HangError(BaseException):
    """A case took longer than any case may."""


@dataclasses.dataclass(frozen=True)
class Verdict:
    """How a case ended: ``"refused"``, ``"accepted"``, or a fault with its words."""

    kind: str
    words: str = ""

    @property
    def is_fault(self) -> bool:
        return self.kind not in ("refused", "accepted")


@contextmanager
def limits() -> Iterator[None]:
    """Limit processor time, and memory: what asks for gigabytes more gets a MemoryError."""

    def over(_: int, frame: FrameType | None) -> None:
        raise HangError("".join(traceback.format_stack(frame)[-3:]))

    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    handler = signal.signal(signal.SIGPROF, over)
    resource.setrlimit(resource.RLIMIT_AS, (used + MORE_BYTES, before[1]))
    signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, before)
        signal.signal(signal.SIGPROF, handler)


def damaged(reader: Reader, seed: int) -> dict[str, bytes]:
    """The reader's valid files with one of them damaged."""
    rng = random.Random(zlib.crc32(reader.name.encode()) * 1_000_003 + seed)
    files = dict(reader.files())
    name = rng.choice([name for name in files if name not in reader.spared])
    files[name] = mutated(name, files[name], rng)
    return files


def write_files(files: Mapping[str, bytes], folder: Path) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        # Files that were just written are looked at twice.
        os.utime(path, (LONG_AGO_S, LONG_AGO_S))


def judged(reader: Reader, files: Mapping[str, bytes], folder: Path) -> Verdict:
    """Read the files and say how it ended."""
    write_files(files, folder)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            with limits():
                found = reader.read(folder)
                verdict = implausible(reader, found)
        except ALLOWED as error:
            verdict = Verdict("refused", str(error))
        except HangError as error:
            verdict = Verdict("hang", str(error))
        except Exception as error:  # noqa: BLE001 - what is being looked for
            verdict = Verdict("crash", f"{type(error).__name__} at {place_of(error)}: {str(error)[:200]}")
    own = [str(each.message) for each in heard if f"{Path('mlperf')}/" in each.filename]
    if not verdict.is_fault and (len(heard) > MOST_WARNINGS or own):
        return Verdict("noise", f"{len(heard)} warnings: {(own or [str(heard[0].message)])[0][:200]}")
    return verdict


def implausible(reader: Reader, found: Any) -> Verdict:
    """Whether what was accepted is finite, and what the reader's own check says."""
    wrong = next((path for path, value in numbers_of(found, "result") if not fine(value, reader)), None)
    if wrong is not None:
        return Verdict("wrong", f"not finite: {wrong}")
    try:
        if reader.check is not None:
            reader.check(found)
    except AssertionError as error:
        return Verdict("wrong", str(error)[:200])
    return Verdict("accepted")


def fine(value: float, reader: Reader) -> bool:
    return math.isfinite(value) or (reader.may_be_missing and math.isnan(value)) or (reader.endless and value == math.inf)


def numbers_of(value: Any, path: str) -> Iterator[tuple[str, float]]:
    """Every number inside a result, of arrays the first that is not finite, with its path."""
    if isinstance(value, (float, np.floating)):
        yield path, float(value)
    elif isinstance(value, pd.DataFrame):
        for name in value.select_dtypes("number"):
            yield from numbers_of(value[name].to_numpy(), f"{path}.{name}")
    elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
        strange = value[~np.isfinite(value)]
        if strange.size:
            yield path, float(strange.ravel()[0])
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from numbers_of(item, f"{path}.{key}")
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from numbers_of(getattr(value, field.name), f"{path}.{field.name}")
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes, range)):
        for index, item in enumerate(value):
            yield from numbers_of(item, f"{path}[{index}]")


def place_of(error: BaseException) -> str:
    """The deepest line of ours in a traceback."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/mlperf/" in frame.filename]
    return f"{frames[-1].filename.partition('/mlperf/')[2]}:{frames[-1].lineno}" if frames else "no line of ours"
