"""``mlperf kernels``: study, train and predict from files, exit codes, figures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.cli.main import main
from mlperf.specs.patterns import RULES, make_patterns, sample_patterns

pytestmark = pytest.mark.slow


def run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in ("kernels", *arguments)])
    return int(caught.value.code or 0)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Times of 48 kernels by two builds, as a user may hand them in."""
    patterns = sample_patterns(make_patterns(RULES["twice"]), 48, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    strided = np.array([sum(word[-1] != "l" for word in pattern.split("-")[1:]) for pattern in patterns])
    frames = [
        pd.DataFrame(
            {
                "pattern": patterns,
                "build": build,
                "N": 30,
                "time_s": 1e-4 * factor * (1.0 + strided) * np.exp(0.02 * rng.standard_normal(len(patterns))),
            }
        )
        for build, factor in (("scalar", 1.5), ("gcc_O2", 1.0))
    ]
    path = tmp_path_factory.mktemp("tables") / "mine.csv"
    pd.concat(frames).to_csv(path, index=False)
    return path


def test_a_study_of_a_users_table(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, tables, figure = tmp_path / "study.html", tmp_path / "study.md", tmp_path / "measured.svg"
    files = ("--html", page, "-o", tables, "--plot", figure)
    assert run("study", table, "--build", "gcc_O2", "--learner", "linear", "--folds", "4", *files) == 0
    text = capsys.readouterr().out
    for word in ("CV R²", "R² adj in sample", "R² ceiling of noise", "one machine: not estimated", "is vectorising worth it"):
        assert word in text
    assert page.read_text(encoding="utf-8").count("<svg") == 2
    assert "| features | learner |" in tables.read_text(encoding="utf-8")
    assert figure.read_text(encoding="utf-8").startswith("<?xml")


def test_train_and_predict(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "kernels.json"
    assert run("train", table, "--build", "gcc_O2", "--features", "swc-s", "--learner", "linear", "--folds", "4", "-o", model) == 0
    capsys.readouterr()
    assert run("predict", model, "--pattern", "ij-jlk-kil", "--size", "30", "--json") == 0
    result = json.loads(capsys.readouterr().out)["result"]
    assert result["predicted_s"][0] == pytest.approx(3e-4, rel=0.4)
    assert result["prediction_interval"]["lower"][0] < result["predicted_s"][0]
    assert run("predict", model, table, "--build", "scalar", "--json") == 0
    assert json.loads(capsys.readouterr().out)["result"]["score"]["n"] == 48


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("study", "no_such_table"), 3, "no such folder"),
        (("predict", "MODEL"), 2, "either SOURCE or --pattern"),
        (("study", "TABLE", "--build", "gcc"), 2, "gcc_O2"),
        (("study", "TABLE", "--edges", "3,2"), 2, "rising"),
        (("train", "TABLE", "-o", "out.json"), 3, "in_"),
    ],
)
def test_what_is_wrong_is_said(
    table: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "MODEL"
    model.write_text("{}", encoding="utf-8")
    given = {"TABLE": table, "MODEL": model, "out.json": tmp_path / "out.json"}
    assert run(*(given.get(word, word) for word in arguments)) == code
    assert words in capsys.readouterr().err


def test_the_words_of_the_command_are_those_of_the_study() -> None:
    from mlperf.cli.commands import kernels
    from mlperf.studies.kernels import FEATURE_SETS, LEARNERS
    from mlperf.studies.kernels.kernel_model import STORED
    from mlperf.studies.kernels.study import PARTS

    assert tuple(FEATURE_SETS) == kernels.SETS
    assert tuple(LEARNERS) == kernels.LEARNERS
    assert kernels.STORED == STORED
    assert kernels.PARTS == PARTS


def test_the_published_equation_warns(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("equation") == 0
    text = capsys.readouterr().out
    assert "-33,024" in text or "-33023.6" in text or "-33,023.6" in text
    assert "negative" in text
