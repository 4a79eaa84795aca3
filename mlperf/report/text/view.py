"""Where the parts of what a command shows are made."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class View:
    """Where sections, figure, page and first line of a result class are made, as ``"module:function"``; empty where nowhere."""

    sections: str = ""
    figure: str = ""
    page: str = ""
    answer: str = ""
