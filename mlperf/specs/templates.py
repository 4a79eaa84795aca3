"""Files to start a specification from: every key with an example and what it means."""

from __future__ import annotations

from importlib import resources

from mlperf.core.suggest import known_word

SPECIFICATIONS = ("cnn", "machine", "job", "prices", "constants")


def specification_template(name: str) -> str:
    """Text of a valid TOML file of a specification; keys that may stay out stand behind ``#``.

    Parameters
    ----------
    name : str
        One of `SPECIFICATIONS`.

    Raises
    ------
    UsageError
        No such specification.
    """
    known_word(name, SPECIFICATIONS, "specification")
    return (resources.files("mlperf.specs") / "data" / "templates" / f"{name}.toml").read_text(encoding="utf-8")
