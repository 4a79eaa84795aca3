"""Stepwise selection against R's step, best subsets, a refit loop and the one X'X product: CPU time of one thread, in one run.

python benchmarks/stepwise.py [a b c d]    a: 443 x 30, b: 10,000 x 60, c: 100,000 x 100, d: 1,000,000 x 50 (default a b)

Engine = triangle, selection and refined coefficients, as a multiple of the product X'X. R (``lm`` + ``step``) and leaps are timed
where Rscript finds them, and only at the sizes where they end within a minute; so is the statsmodels refit loop.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
from statsmodels.regression.linear_model import OLS

from mlperf.core.threads import one_blas_thread
from mlperf.models.algebra.triangle import triangle
from mlperf.models.estimators.stepwise.stepwise import StepwiseOLS
from mlperf.models.inference import diagnostics as d
from mlperf.models.selection.linear import refined_coefficients
from mlperf.models.selection.search import search
from mlperf.models.selection.spaces import TriangleSpace, column_groups, default_criterion

SIZES = {"a": (443, 30, 1), "b": (10_000, 60, 2), "c": (100_000, 100, 3), "d": (1_000_000, 50, 4)}
GATES = {"a": 25.0, "b": 4.0, "c": 2.0, "d": 2.3}
REPEATS = {"a": 100, "b": 20, "c": 5, "d": 3}

R_SCRIPT = """
d <- read.csv(commandArgs(TRUE)[1])
cpu <- function(e) sum(system.time(e)[1:2])
cat("lm", cpu(for (i in 1:5) m <- lm(y ~ ., d)) / 5, "\\n")
cat("step", cpu(s <- step(m, trace = 0)), "\\n")
cat("aic", format(extractAIC(s)[2], digits = 15), "\\n")
if (requireNamespace("leaps", quietly = TRUE))
  cat("leaps", cpu(leaps::regsubsets(as.matrix(d[names(d) != "y"]), d$y, nvmax = ncol(d) - 1, method = "backward")), "\\n")
"""


def make_design(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Correlated columns on scales 1e-1..1e3, half of them real, R2 about 0.94."""
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((max(3, p // 6), p)) * 0.6
    x = rng.standard_normal((n, len(loadings))) @ loadings
    x += rng.standard_normal((n, p))
    scale = 10.0 ** rng.uniform(-1, 3, p)
    shift = rng.uniform(1, 5, p) * scale
    x *= scale
    x += shift
    beta = np.zeros(p)
    beta[: p // 2] = rng.uniform(0.5, 2, p // 2) * rng.choice([-1, 1], p // 2) / scale[: p // 2]
    order = rng.permutation(p)
    mean = x @ beta
    sigma = mean.std() * np.sqrt(0.06 / 0.94)
    y = 100 * sigma + mean + sigma * rng.standard_normal(n)
    return np.asfortranarray(x[:, order]), y


def cpu(run: Callable[[], object], repeats: int) -> float:
    """Least CPU seconds of several runs."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def engine(x: np.ndarray, y: np.ndarray) -> float:
    """Triangle, selection, refined coefficients; returns the AIC."""
    made = triangle(x, y)
    space = TriangleSpace(made, column_groups(np.arange(x.shape[1] + 1)))
    selection = search(space, default_criterion(made), "backward")
    refined_coefficients(space.active, x, y)
    return selection.refits[-1].value


def refit_loop(x: np.ndarray, y: np.ndarray) -> float:
    """Backward selection that refits every candidate with statsmodels."""

    def aic(columns: list[int]) -> float:
        fit = OLS(y, np.column_stack([np.ones(len(y)), x[:, columns]])).fit(method="qr")
        return float(len(y) * np.log(fit.ssr / len(y)) + 2 * (len(columns) + 1))

    current, value = list(range(x.shape[1])), aic(list(range(x.shape[1])))
    while current:
        tried = {column: aic([c for c in current if c != column]) for column in current}
        best = min(tried, key=tried.__getitem__)
        if tried[best] >= value:
            break
        value = tried[best]
        current.remove(best)
    return value


def in_r(x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """CPU seconds of R's functions on the same table, empty where R is absent."""
    if shutil.which("Rscript") is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        table, script = Path(folder) / "d.csv", Path(folder) / "run.R"
        header = ",".join([*(f"x{i}" for i in range(x.shape[1])), "y"])
        np.savetxt(table, np.column_stack([x, y]), delimiter=",", header=header, comments="", fmt="%.17g")
        script.write_text(R_SCRIPT, encoding="utf-8")
        done = subprocess.run(["Rscript", str(script), str(table)], capture_output=True, text=True, check=True)
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def full_report(x: np.ndarray, y: np.ndarray) -> None:
    report = StepwiseOLS().fit(x, y).report_
    for block in ("coefficients", "influence", "residual_tests", "anova", "drop1", "press"):
        getattr(report, block)


def diagnostics(x: np.ndarray, y: np.ndarray) -> Callable[[], object]:
    fit = StepwiseOLS(report="none").fit(x, y).report_._fit

    def run() -> None:
        q = fit.q()
        influence = d.influence(fit, q)
        d.robust_std_err(fit, q, influence.leverage)
        d.variance_inflation(fit)
        d.condition(fit)
        d.breusch_pagan(fit, q)
        d.white(fit)
        d.reset(fit, q)

    return run


def engine_memory(x: np.ndarray, y: np.ndarray) -> float:
    """Largest memory of the engine over that of X."""
    tracemalloc.start()
    engine(x, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / x.nbytes


def main(names: list[str]) -> None:
    machine = platform.processor() or platform.machine()
    print(f"{machine}, Python {platform.python_version()}, numpy {np.__version__}; CPU seconds of one thread")
    for name in names:
        x, y = make_design(*SIZES[name])
        product = cpu(lambda x=x: x.T @ x, REPEATS[name])
        ours = cpu(lambda x=x, y=y: engine(x, y), REPEATS[name])
        print(f"\n{name}: {len(y):,} x {x.shape[1]}   X'X product {product:.6f} s")
        print(f"  engine                    {ours:.6f} s  {ours / product:6.2f} products (at most {GATES[name]:g})")
        if name in "ab":
            print(f"  estimator and full report {cpu(lambda x=x, y=y: full_report(x, y), 10):.6f} s")
            print(f"  all diagnostics           {cpu(diagnostics(x, y), 20):.6f} s")
        if name == "a":
            print(f"  statsmodels refit loop    {cpu(lambda x=x, y=y: refit_loop(x, y), 1):.6f} s")
        if name in "ab":
            for what, seconds in in_r(x, y).items():
                shown = f"{seconds:.6f} (ours {engine(x, y):.6f})" if what == "aic" else f"{seconds:.6f} s"
                print(f"  R {what:<23} {shown}")
        print(f"  engine memory             {engine_memory(x, y):.2f} of X")


if __name__ == "__main__":
    with one_blas_thread():
        main(sys.argv[1:] or ["a", "b"])
