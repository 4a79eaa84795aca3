"""R's formula language and model matrices, against what R itself printed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.models.formula import expressions
from mlperf.models.formula.formula import parse_formula, parse_term
from mlperf.models.formula.terms import Terms

FRAME = pd.DataFrame(
    {
        "x": [1.0, 2.0, 4.0, 7.0, 5.0, 3.0],
        "z": [0.5, 0.1, 0.9, 0.4, 0.2, 0.7],
        "f": list("abcabc"),
        "g": list("ppqqpq"),
        "o": pd.Categorical(["L1", "L2", "L3", "L1", "L2", "L3"], ordered=True),
    }
)

# formula, column names of R's model.matrix
MATRICES = {
    "~ x:f": "(Intercept)|x:fa|x:fb|x:fc",
    "~ 0 + x + x:f": "x|x:fa|x:fb|x:fc",
    "~ 0 + x + f": "x|fa|fb|fc",
    "~ f:x + f": "(Intercept)|fb|fc|fa:x|fb:x|fc:x",
    "~ 0 + f:x:g + x:z + z": "z|x:z|fa:x:gp|fb:x:gp|fc:x:gp|fa:x:gq|fb:x:gq|fc:x:gq",
    "~ z/f + o:g + x*g": "(Intercept)|z|x|gq|z:fb|z:fc|o.L:gp|o.Q:gp|o.L:gq|o.Q:gq|gq:x",
    "~ f:g + g:o": "(Intercept)|fa:gp|fb:gp|fc:gp|fa:gq|fb:gq|fc:gq|gp:o.L|gq:o.L|gp:o.Q|gq:o.Q",
    "~ poly(x, 2):f": "(Intercept)|" + "|".join(f"poly(x, 2){d}:f{level}" for level in "abc" for d in (1, 2)),
}

# formula, R's term labels
LABELS = {
    "y ~ block + a * b * c": "block a b c a:b a:c b:c a:b:c",
    "y ~ (a + b + c)^2 - a:b": "a b c a:c b:c",
    "y ~ b:a + a + b": "b a b:a",
    "y ~ a / b": "a a:b",
    "y ~ log(x) * I(x^2) - 1": "log(x) I(x^2) log(x):I(x^2)",
    "y ~ z:f + z + x + f / z": "z x f z:f",
}


@pytest.mark.parametrize("formula", list(MATRICES))
def test_columns_are_those_of_model_matrix(formula: str) -> None:
    parsed = parse_formula(formula)
    columns = Terms.learn(parsed.terms, FRAME, intercept=parsed.intercept).columns(FRAME)
    assert "|".join(columns.names) == MATRICES[formula]
    assert columns.matrix.shape == (6, len(columns.names))


@pytest.mark.parametrize("formula", list(LABELS))
def test_labels_are_those_of_r(formula: str) -> None:
    # R orders labels by interaction order; variables inside a label by their first appearance.
    found = {term.key for term in parse_formula(formula).terms}
    assert found == {frozenset(label.split(":")) for label in LABELS[formula].split()}
    if ":" in LABELS[formula].split()[-1]:
        assert parse_formula(formula).terms[-1].name == LABELS[formula].split()[-1]


def test_lines_break_where_r_breaks_them() -> None:
    text = "t_ms ~ nodes + I(1/nodes) + log2(nodes) + sub + params + I(params * log2(nodes))"
    assert expressions.lines(expressions.parse(text)) == [
        "t_ms ~ nodes + I(1/nodes) + log2(nodes) + sub + params + I(params * ",
        "    log2(nodes))",
    ]


def test_numbers_print_as_in_r() -> None:
    tree = expressions.parse("x + 1000000 + I(100000*x) + I(0.1*x) + I(x^-1) + 123456 + I(1e-5*x) + I(1234567.891*x)")
    expected = "x + 1e+06 + I(1e+05 * x) + I(0.1 * x) + I(x^-1) + 123456 + I(1e-05 * x) + I(1234567.891 * x)"
    assert expressions.text(tree) == expected


@pytest.mark.parametrize(
    ("source", "name"), [("m*n*k", "I(m * n * k)"), ("log2(n)", "log2(n)"), ("a:b", "a:b"), ("1", "1"), ("(m*n)", "I(m * n)")]
)
def test_a_term_is_an_expression(source: str, name: str) -> None:
    assert parse_term(source).name == name


def test_predictions_repeat_the_recurrence_of_the_fit() -> None:
    terms = Terms.learn(parse_formula("~ poly(x, 2)").terms, FRAME)
    whole, part = terms.columns(FRAME).matrix, terms.columns(FRAME.iloc[2:4]).matrix
    np.testing.assert_array_equal(part, whole[2:4])
    np.testing.assert_allclose(whole[:, 1:].T @ whole, np.eye(3)[1:] * 1.0, atol=1e-12)
    again = Terms.from_dict(terms.to_dict())
    np.testing.assert_array_equal(again.columns(FRAME).matrix, whole)


@pytest.mark.parametrize("text", ["y ~ a +", "a b", "y ~ 2", "y ~ a $ b", "y ~ (a", "y ~ a^0", "y ~ I(a:b)", "y ~ poly(x)^2.5"])
def test_what_is_no_formula_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_formula(text)


def test_an_absent_column_names_the_nearest() -> None:
    with pytest.raises(DataError, match="expected one of flops"):
        Terms.learn(["flps"], pd.DataFrame({"flops": [1.0, 2.0]})).columns(pd.DataFrame({"flops": [1.0]}))


def test_every_level_has_a_column_and_what_they_add_up_to_has_none() -> None:
    frame = pd.DataFrame({"m": [1.0, 2.0, 3.0, 4.0], "gpu": list("abab"), "host": list("xxyy")})
    learned = Terms.learn(["m", "gpu", "host", "m:gpu"], frame)
    whole = learned.with_every_level()
    assert whole.column_names == ["gpua", "gpub", "hostx", "hosty", "m:gpua", "m:gpub"]
    np.testing.assert_array_equal(whole.columns(frame).matrix[:, :2].sum(axis=1), np.ones(4))
    assert Terms.from_dict(whole.to_dict()) == whole
    assert "every_level" not in learned.to_dict()
    numbers = Terms.learn(["m"], frame)
    assert numbers.with_every_level() is numbers
    assert Terms.learn(["m:gpu"], frame).with_every_level().column_names == ["(Intercept)", "m:gpua", "m:gpub"]
