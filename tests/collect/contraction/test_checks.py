"""The numbers that kernels are checked against: the random stream, and einsum against plain loops."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mlperf.collect.contraction.checks import checksum, noise, operand, result
from mlperf.specs.patterns import RULES, PatternRule, make_patterns, sample_patterns

# The first outputs of splitmix64 from seed 0 (Steele, Lea, Flood 2014; the values that Java's SplittableRandom gives).
SPLITMIX = (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC)
FAMILIES = {
    "twice": ("ijkl", RULES["twice"]),
    "distinct": ("ijkl", RULES["distinct"]),
    "repeats": ("ijkl", RULES["repeats_all_used"]),
    "products": ("ijk", PatternRule((2, 2, 2), "ijk", times=2)),
    "four arrays": ("xyz", PatternRule((1, 2, 1, 2), "xyz", all_used=True)),
    "one operand": ("ij", PatternRule((2, 2), "ij")),
}


def test_the_stream_is_splitmix64() -> None:
    assert noise(0, 4).tolist() == [(number >> 40) / 2**24 for number in SPLITMIX]
    assert np.array_equal(operand(2, 2, 3).ravel(), noise(2 << 40, 9))
    assert np.array_equal(noise(5, 100), noise(5, 100).astype(np.float32))


@pytest.mark.parametrize("name", FAMILIES)
def test_einsum_equals_plain_loops(name: str) -> None:
    """Every loop runs, used or not; repeated subscripts of the result stay on its diagonal."""
    loops, rule = FAMILIES[name]
    n = 3
    patterns = make_patterns(rule)
    for pattern in sample_patterns(patterns, min(12, len(patterns)), np.random.default_rng(1)):
        target, *words = pattern.split("-")
        arrays = [operand(number, len(word), n) for number, word in enumerate(words, 1)]
        expected = np.zeros((n,) * len(target))
        for values in product(range(n), repeat=len(loops)):
            at = dict(zip(loops, values, strict=True))
            term = 1.0
            for word, array in zip(words, arrays, strict=True):
                term *= array[tuple(at[letter] for letter in word)]
            expected[tuple(at[letter] for letter in target)] += term
        assert np.allclose(result(pattern, loops, n), expected, rtol=1e-12, atol=0), pattern
        assert checksum(pattern, loops, n) == pytest.approx(expected.ravel() @ (1 + noise(0, expected.size)), rel=1e-12)
