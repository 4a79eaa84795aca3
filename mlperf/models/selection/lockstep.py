"""Backward selection of many resamples at once: one product makes all Gram matrices, then all drop their terms in step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.models.selection.criteria import Criterion

ROWS_A_CHUNK = 4096
RESAMPLES_A_BATCH = 64
# Above this, diag(inverse) x diag(Gram) says that a column of the resample is nearly a sum of others: look at it alone.
WORST_INFLATION = 1e11


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """Terms as columns, and which of them may leave.

    Attributes
    ----------
    groups : sequence of array of int
        Columns of each term, in the design without aliased columns.
    inside : array of bool, shape (n_terms, n_terms)
        [i, j]: term j contains term i, so i stays while j is there.
    fixed : array of bool, shape (n_terms,)
        Terms that never leave.
    constant : int
        Columns in front that belong to no term (0 or 1).
    """

    groups: Sequence[IntArray]
    inside: BoolArray
    fixed: BoolArray
    constant: int


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """What every resample selected.

    Attributes
    ----------
    kept : array of bool, shape (n_resamples, n_terms)
    coef : array, shape (n_resamples, n_columns)
        In the units of the design; NaN for columns that left.
    decided : array of bool, shape (n_resamples,)
        False where the resample is too near to singular for this engine.
    aliased : array of bool, shape (n_resamples,)
        Where a column was a sum of others (or zero) in the resample though not in the data.
    """

    kept: BoolArray
    coef: FloatArray
    decided: BoolArray
    aliased: BoolArray


def resample_counts(n_rows: int, size: int, seed: int) -> Iterator[tuple[slice, IntArray]]:
    """How often each row enters each bootstrap resample, by chunks of rows.

    Yields
    ------
    rows : slice
    counts : array of int, shape (size, n_rows of the chunk)
        Over all chunks every resample's counts sum to ``n_rows``.
    """
    rng = np.random.default_rng(seed)
    starts = np.arange(0, n_rows, ROWS_A_CHUNK)
    lengths = np.diff(np.append(starts, n_rows))
    shares = rng.multinomial(n_rows, lengths / n_rows, size) if len(starts) > 1 else np.full((size, 1), n_rows)
    for start, length, share in zip(starts.tolist(), lengths.tolist(), shares.T, strict=True):
        drawn = rng.integers(0, length, int(share.sum())) + np.repeat(np.arange(size) * length, share)
        yield slice(start, start + length), np.bincount(drawn, minlength=size * length).reshape(size, length)


def lockstep_selections(
    design: FloatArray, y: FloatArray, structure: Structure, criterion: Criterion, size: int, seed: int
) -> Outcomes:
    """Backward selection of ``size`` bootstrap resamples of the rows.

    Parameters
    ----------
    design : array, shape (n_samples, n_columns)
        Weighted rows, full column rank, the constant first.
    y : array, shape (n_samples,)
        Weighted.
    structure : Structure
    criterion : Criterion
        Not ``p_value``.
    size, seed : int
        As in `resample_counts`.

    Notes
    -----
    All sums are taken of the orthonormal basis Q of the design and the residuals e of the full fit, so that neither the inverse nor
    the residual sums of squares lose digits to the scale or correlation of the columns.
    """
    basis, triangle = np.linalg.qr(design)
    coef = np.linalg.solve(triangle, basis.T @ y)
    residual = y - design @ coef
    moments = _Moments.of(basis, residual, design, size, seed)
    inverse = np.linalg.inv(triangle)
    n_columns, n_terms = design.shape[1], len(structure.groups)
    kept = np.ones((size, n_terms), dtype=np.bool_)
    coefs = np.full((size, n_columns), np.nan)
    decided, aliased = np.ones(size, dtype=np.bool_), np.zeros(size, dtype=np.bool_)
    for start in range(0, size, RESAMPLES_A_BATCH):
        batch = slice(start, start + RESAMPLES_A_BATCH)
        fits = moments.fits(batch, inverse, coef)
        fits.select(structure, criterion, np.full(len(fits.rss), len(y)))
        kept[batch], coefs[batch], decided[batch], aliased[batch] = fits.kept, fits.coefficients(), fits.decided, fits.aliased
    return Outcomes(kept, coefs, decided, aliased | ~decided)


@dataclass(frozen=True, slots=True, eq=False)
class _Moments:
    gram: FloatArray
    side: FloatArray
    square: FloatArray
    column_square: FloatArray

    @classmethod
    def of(cls, basis: FloatArray, residual: FloatArray, design: FloatArray, size: int, seed: int) -> _Moments:
        n_columns = basis.shape[1]
        left, right = np.triu_indices(n_columns)
        n_gram = len(left)
        sums = np.zeros((size, n_gram + 2 * n_columns + 1))
        for rows, counts in resample_counts(len(residual), size, seed):
            part, error = basis[rows], residual[rows, None]
            products = np.hstack([part[:, left] * part[:, right], part * error, np.square(error), np.square(design[rows])])
            sums += counts.astype(np.float64) @ products
        gram = np.empty((size, n_columns, n_columns))
        gram[:, left, right] = gram[:, right, left] = sums[:, :n_gram]
        square = sums[:, n_gram + n_columns]
        return cls(gram, sums[:, n_gram : n_gram + n_columns], square, sums[:, n_gram + n_columns + 1 :])

    def fits(self, batch: slice, inverse: FloatArray, coef: FloatArray) -> Fits:
        gram, side = self.gram[batch].copy(), self.side[batch]
        missing = self.column_square[batch] == 0.0
        # A column without a value in the resample is orthogonal to all others: any weight keeps the rest as it is.
        for row, column in zip(*np.nonzero(missing), strict=True):
            gram[row] += np.outer(inverse[:, column], inverse[:, column]) / (inverse[:, column] @ inverse[:, column])
        decided = np.ones(len(gram), dtype=np.bool_)
        try:
            solved = np.linalg.inv(gram)
        except np.linalg.LinAlgError:
            solved = np.linalg.pinv(gram, hermitian=True)
            decided = np.linalg.matrix_rank(gram, hermitian=True) == gram.shape[1]
        step = np.matmul(solved, side[:, :, None])[:, :, 0]
        covariance = np.matmul(np.matmul(inverse, solved), inverse.T)
        norms = np.where(missing, 1.0, self.column_square[batch])
        diagonal = np.einsum("ijj->ij", covariance)
        decided &= (np.abs(np.where(missing, 0.0, diagonal * norms)) < WORST_INFLATION).all(axis=1)
        rss = np.maximum(self.square[batch] - np.einsum("ij,ij->i", side, step), 0.0)
        return Fits(covariance, coef + step @ inverse.T, rss, missing, decided)


class Fits:
    """The current models of one batch of resamples.

    Parameters
    ----------
    inverse : array, shape (n_resamples, n_columns, n_columns)
        Inverse of each Gram matrix.
    b : array, shape (n_resamples, n_columns)
        Coefficients of the fits with all columns.
    rss : array, shape (n_resamples,)
    missing : array of bool, shape (n_resamples, n_columns)
        Columns that are zero in the resample.
    decided : array of bool, shape (n_resamples,)
        False for resamples to leave alone.
    """

    def __init__(self, inverse: FloatArray, b: FloatArray, rss: FloatArray, missing: BoolArray, decided: BoolArray) -> None:
        self.inverse, self.b, self.rss, self.missing, self.decided = inverse, b, rss, missing, decided
        self.aliased = missing.any(axis=1)
        self.gone = missing.copy()
        self.b[missing] = 0.0
        self.kept: BoolArray = np.empty((0, 0), dtype=np.bool_)

    def select(self, structure: Structure, criterion: Criterion, n_samples: IntArray) -> None:
        """Drop terms until no drop is an improvement; ``n_samples`` rows in each resample."""
        df = np.column_stack([(~self.missing[:, columns]).sum(axis=1) for columns in structure.groups])
        df = df.reshape(len(self.b), len(structure.groups))
        self.kept = np.ones(df.shape, dtype=np.bool_)
        rank = structure.constant + df.sum(axis=1)
        going = np.flatnonzero(self.decided)
        while len(going):
            there = self.kept[going]
            free = there & ~structure.fixed & ~((there @ structure.inside.T.astype(np.int64)) > 0)
            rss = self.rss[going, None] + self._gains(going, structure)
            values = criterion.values(rss, rank[going, None] - df[going], n_samples[going, None])
            values = np.where(free & (df[going] > 0), values, np.inf)
            stay = criterion.values(self.rss[going], rank[going], n_samples[going])
            empty = free & (df[going] == 0)
            choice = np.where(empty.any(axis=1), _last(empty), values.argmin(axis=1))
            moves = empty.any(axis=1) | (values.min(axis=1, initial=np.inf) < stay)
            going, choice = going[moves], choice[moves]
            self._drop(going, choice, structure)
            rank[going] -= df[going, choice]
            self.kept[going, choice] = False

    def _gains(self, going: IntArray, structure: Structure) -> FloatArray:
        """Rise of the residual sum of squares without each term, shape (n_going, n_terms)."""
        gains = np.zeros((len(going), len(structure.groups)))
        sizes = np.array([len(columns) for columns in structure.groups])
        for size in np.unique(sizes).tolist():
            terms = np.flatnonzero(sizes == size)
            columns = np.array([structure.groups[term] for term in terms.tolist()])
            b = self.b[going[:, None, None], columns]
            if size == 1:
                gains[:, terms] = np.square(b[..., 0]) / self.inverse[going[:, None], columns[:, 0], columns[:, 0]]
                continue
            block = self.inverse[going[:, None, None, None], columns[:, :, None], columns[:, None, :]]
            gains[:, terms] = (b * np.linalg.solve(block, b[..., None])[..., 0]).sum(axis=-1)
        return gains

    def _drop(self, going: IntArray, choice: IntArray, structure: Structure) -> None:
        longest = max((len(columns) for columns in structure.groups), default=0)
        table = np.full((len(structure.groups), longest), -1)
        for term, columns in enumerate(structure.groups):
            table[term, : len(columns)] = columns
        for place in range(longest):
            column = table[choice, place]
            chosen = column >= 0
            self._sweep(going[chosen], column[chosen])

    def _sweep(self, going: IntArray, column: IntArray) -> None:
        present = ~self.gone[going, column]
        going, column = going[present], column[present]
        if len(going) == 0:
            return
        row = self.inverse[going, column]
        pivot = self.inverse[going, column, column]
        own = self.b[going, column]
        self.rss[going] += own * own / pivot
        scaled = row / pivot[:, None]
        self.b[going] -= scaled * own[:, None]
        everyone = len(going) == len(self.inverse)
        if everyone:
            self.inverse -= row[:, :, None] * scaled[:, None, :]
        else:
            self.inverse[going] -= row[:, :, None] * scaled[:, None, :]
        self.inverse[going, column] = 0.0
        self.inverse[going, :, column] = 0.0
        self.inverse[going, column, column] = 1.0
        self.b[going, column] = 0.0
        self.gone[going, column] = True

    def coefficients(self) -> FloatArray:
        """Coefficients of the final models, NaN for columns not in them."""
        return np.where(self.gone | ~self.decided[:, None], np.nan, self.b)


def _last(flags: BoolArray) -> IntArray:
    """Position of the last True of each row."""
    return np.asarray(flags.shape[1] - 1 - flags[:, ::-1].argmax(axis=1), dtype=np.int64)
