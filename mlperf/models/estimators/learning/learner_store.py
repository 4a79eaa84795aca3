"""scikit-learn learners as skops files: no code runs on loading, and only the types listed here are made (extra ``learners``)."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

from mlperf.core.errors import DataError, MissingExtraError, UsageError
from mlperf.core.files import write_bytes_whole
from mlperf.models.estimators.learning.learners import LogLearner

MAX_BYTES = 512 * 2**20

TRUSTED = (
    "mlperf.models.uncertainty.domain.Domain",
    "mlperf.models.formula.formula.Term",
    "mlperf.models.uncertainty.hull.Hull",
    "mlperf.models.estimators.learning.learners.LearnerReport",
    "mlperf.models.estimators.learning.learners.LogAxes",
    "mlperf.models.estimators.learning.learners.LogLearner",
    "mlperf.models.uncertainty.leverage.Leverage",
    "mlperf.models.formula.polynomials.PolynomialBasis",
    "mlperf.models.validation.scores.ErrorSummary",
    "mlperf.models.formula.terms.Terms",
    "mlperf.models.formula.variables.Variable",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.gaussian_process.kernels.ConstantKernel",
    "sklearn.gaussian_process.kernels.Product",
    "sklearn.gaussian_process.kernels.RBF",
    "sklearn.gaussian_process.kernels.Sum",
    "sklearn.gaussian_process.kernels.WhiteKernel",
    "sklearn.tree._tree.Tree",
)


def write_learner(learner: LogLearner, path: str | Path) -> None:
    """Write a fitted learner to a ``.skops`` file, whole or not at all.

    Raises
    ------
    UsageError
        Not a `LogLearner`; other models are written by `write_model`.
    MissingExtraError
        The extra ``learners`` is not installed.
    """
    skops = _skops()
    if not isinstance(learner, LogLearner):
        raise UsageError(
            f"got {type(learner).__name__}, expected LogLearner", place="write_learner", hint="Other models: write_model."
        )
    write_bytes_whole(Path(path), skops.dumps(learner, compression=zipfile.ZIP_DEFLATED))


def read_learner(path: str | Path) -> LogLearner:
    """Read a learner that `write_learner` wrote.

    Raises
    ------
    DataError
        The file cannot be read, is too large, holds a type that is not trusted, or no `LogLearner`.
    MissingExtraError
        The extra ``learners`` is not installed.
    """
    skops = _skops()
    content = _checked_archive(Path(path))
    try:
        unknown = sorted(set(skops.get_untrusted_types(data=content)) - set(TRUSTED))
        if unknown:
            raise DataError(
                f"got the type {unknown[0]}, which is not trusted", place=str(path), hint="Only files of write_learner are read."
            )
        learner = skops.loads(content, trusted=list(TRUSTED))
    except (LookupError, TypeError, ValueError, AttributeError, ImportError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"not a learner: {type(error).__name__}: {error}", place=str(path)) from error
    if not isinstance(learner, LogLearner):
        raise DataError(f"got {type(learner).__name__}, expected LogLearner", place=str(path))
    return learner


def _checked_archive(path: Path) -> bytes:
    try:
        content = path.read_bytes()
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", place=str(path)) from None
    except zipfile.BadZipFile as error:
        raise DataError(f"not a skops file: {error}", place=str(path)) from None
    if size > MAX_BYTES:
        raise DataError(f"got {size} bytes unpacked, expected at most {MAX_BYTES}", place=str(path))
    return content


def _skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise MissingExtraError("storing learners needs skops", hint="pip install 'mlperf-estimator[learners]'") from None
    return skops.io
