"""Where in the program a call stands: addresses as recorded, looked up in the program's file."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

PATIENCE_S = 30.0
ELF, EXECUTABLE = b"\x7fELF", 2


def call_sites(sites: Mapping[int, tuple[bool, str]]) -> dict[int, str]:
    """Places by address: ``file:line function`` where the program has that information, else ``function+offset (file)``.

    Parameters
    ----------
    sites : mapping of int to (bool, str)
        Whether the text is the place itself; else path, offset in it, address (both hexadecimal) and symbol, by tabs.
    """
    found = {address: text for address, (is_ready, text) in sites.items() if is_ready}
    by_path: dict[str, list[tuple[int, str, str, str]]] = {}
    for address, (is_ready, text) in sites.items():
        path, offset, absolute, symbol = (*text.split("\t"), "", "", "", "")[:4]
        if not is_ready:
            by_path.setdefault(path, []).append((address, offset, absolute, symbol))
    for path, rows in by_path.items():
        # Programs at fixed addresses are looked up by these, all others by the distance from where they were loaded.
        asked = [absolute if _is_fixed(path) else offset for _, offset, absolute, _ in rows]
        for (address, offset, _, symbol), place in zip(rows, _looked_up(path, asked), strict=True):
            found[address] = place or f"{symbol or '?'}+0x{offset} ({Path(path).name})"
    return found


def _is_fixed(path: str) -> bool:
    """Whether the program is linked to fixed addresses."""
    try:
        with Path(path).open("rb") as stream:
            head = stream.read(18)
    except (OSError, ValueError):
        return False
    return head[:4] == ELF and int.from_bytes(head[16:18], "little") == EXECUTABLE


def _looked_up(path: str, offsets: Iterable[str]) -> list[str]:
    """Function and line of the instruction before each address; empty where nothing is known."""
    asked = [_before(offset) for offset in offsets]
    tool = shutil.which("addr2line")
    if tool is None or "\0" in path or not Path(path).is_file():
        return [""] * len(asked)
    try:
        answer = subprocess.run(  # noqa: S603 - a tool of the system on the file that was recorded
            [tool, "-f", "-C", "-e", path], input="\n".join(asked), capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return [""] * len(asked)
    lines = answer.stdout.splitlines()
    if len(lines) != 2 * len(asked):
        return [""] * len(asked)
    return [_place(function, line) for function, line in zip(lines[::2], lines[1::2], strict=True)]


def _before(offset: str) -> str:
    """The address of the call itself; what is recorded is where it returns to."""
    try:
        return hex(max(int(offset, 16) - 1, 0))
    except ValueError:
        return "0x0"


def _place(function: str, line: str) -> str:
    """One place in words."""
    file, _, number = line.partition(" (")[0].rpartition(":")
    if number.isdigit() and int(number) > 0:
        return f"{Path(file).name}:{number} {function}".replace(" ??", "")
    return "" if function == "??" else function
