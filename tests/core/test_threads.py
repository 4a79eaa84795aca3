"""Threads are limited in every library that is loaded, and given back."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from mlperf.core.threads import one_blas_thread, one_thread


def blas_threads() -> list[int]:
    """Threads of each BLAS by threadpoolctl's own account."""
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_threads_are_one_inside_and_given_back() -> None:
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with one_blas_thread(), one_blas_thread():
            np.ones((2, 2)) @ np.ones((2, 2))
            assert set(blas_threads()) == {1}
        assert blas_threads() == before


def test_openmp_is_limited_only_where_all_are() -> None:
    import sklearn.ensemble  # noqa: F401 - brings OpenMP

    def openmp_threads() -> set[int]:
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "openmp"}

    with threadpool_limits(2):
        with one_blas_thread():
            assert openmp_threads() == {2}
        with one_thread():
            assert openmp_threads() == set(blas_threads()) == {1}
        assert openmp_threads() == {2}


def test_threads_are_given_back_after_an_error() -> None:
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        try:
            with one_blas_thread():
                raise KeyError
        except KeyError:
            pass
        assert blas_threads() == before


def test_a_library_that_was_loaded_later_is_limited_too() -> None:
    """SciPy brings a BLAS of its own."""
    code = """
import numpy
from mlperf.core.threads import one_blas_thread, one_thread
from threadpoolctl import threadpool_info
with one_blas_thread():
    pass
import scipy.linalg
with one_blas_thread():
    print({library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "{1}"
