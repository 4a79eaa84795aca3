"""The current section of assembler source, and whether code goes there."""

from __future__ import annotations

import re

_PARTS = re.compile(r'"[^"]*"|[^\s,]+')
_CODE = re.compile(r"\.?(?:text|init|fini|plt)\b|__TEXT")
SIMPLE = frozenset({".text", ".data", ".bss"})
SWITCHES = SIMPLE | {".section", "section", "segment", ".pushsection", ".popsection", ".previous"}


class Sections:
    """Follows the directives that change the section."""

    def __init__(self) -> None:
        self.name = ".text"
        self._previous = ".text"
        self._stack: list[str] = []
        self._executable: dict[str, bool] = {".text": True}

    @property
    def is_code(self) -> bool:
        """Whether the current section holds instructions."""
        return self._executable[self.name]

    def switch(self, directive: str, arguments: str) -> None:
        """Follow one of `SWITCHES`."""
        if directive == ".popsection":
            self._enter(self._stack.pop() if self._stack else ".text")
        elif directive == ".previous":
            self._enter(self._previous)
        elif directive in SIMPLE:
            self._enter(directive)
        else:
            if directive == ".pushsection":
                self._stack.append(self.name)
            parts = [part.strip('"') for part in _PARTS.findall(arguments)]
            name = ",".join(parts[:2]) if parts and parts[0].startswith("__") else (parts[0] if parts else ".text")
            # The second part holds the flags where the assembler is GNU's or LLVM's: x means executable.
            is_code = _CODE.match(name) is not None or (len(parts) > 1 and "x" in parts[1] and not name.startswith("__"))
            self._executable.setdefault(name, is_code)
            self._enter(name)

    def _enter(self, name: str) -> None:
        self._executable.setdefault(name, _CODE.match(name) is not None)
        self._previous, self.name = self.name, name
