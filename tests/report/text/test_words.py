"""One wording: the glossary says of every word what the commands say of it, sorted, and the README leads there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mlperf.report.text.words import WORDS, words_section

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
GLOSSARY = dict(re.findall(r"^\*\*(.+?)\*\*: (.+?)(?=\n\n|\Z)", TEXT, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("word", WORDS)
def test_the_glossary_says_the_same(word: str) -> None:
    assert word in GLOSSARY
    assert " ".join(GLOSSARY[word].split()).startswith(WORDS[word])


def test_words_stand_in_the_order_of_the_alphabet() -> None:
    assert list(GLOSSARY) == sorted(GLOSSARY, key=str.lower)
    assert len(GLOSSARY) > len(WORDS)


def test_the_readme_leads_to_the_glossary() -> None:
    assert "docs/glossary.md" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_words_are_a_detail() -> None:
    section = words_section("sub-batch", "window")
    assert section.is_detail
    assert section.text.count("\n") == 1
