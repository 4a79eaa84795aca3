"""Boosted regression trees as plain arrays, evaluated by our own code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields
from mlperf.core.shown import plain

BATCH_ROWS = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """A sum of regression trees; nodes of all trees lie one after the other, arrays have shape (n_nodes,).

    Attributes
    ----------
    baseline : float
        What the trees are added to.
    root : array of int, shape (n_trees,)
        First node of each tree.
    feature : array of int
        Column compared; -1 in a leaf.
    threshold : array
        Rows with value <= threshold go left.
    missing_left : array of bool
        Whether NaN goes left.
    left, right : arrays of int
        Children; a leaf is its own child.
    value : array
        What a leaf adds.
    depth : int
        Comparisons on the longest path.
    """

    baseline: float
    root: IntArray
    feature: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    left: IntArray
    right: IntArray
    value: FloatArray
    depth: int

    @classmethod
    def of(cls, boosting: Any) -> Trees:
        """The trees of a fitted ``HistGradientBoostingRegressor`` without categorical splits."""
        tables = [trees[0].nodes for trees in boosting._predictors]
        sizes = np.array([len(table) for table in tables], dtype=np.int64)
        root = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        nodes = np.concatenate(tables)
        offset = np.repeat(root, sizes)
        leaf = nodes["is_leaf"].astype(bool)
        own = np.arange(len(nodes))
        return cls(
            baseline=float(boosting._baseline_prediction.ravel()[0]),
            root=root,
            feature=np.where(leaf, -1, nodes["feature_idx"]).astype(np.int64),
            threshold=np.where(leaf, 0.0, nodes["num_threshold"]),
            missing_left=nodes["missing_go_to_left"].astype(bool) & ~leaf,
            left=np.where(leaf, own, nodes["left"] + offset).astype(np.int64),
            right=np.where(leaf, own, nodes["right"] + offset).astype(np.int64),
            value=np.where(leaf, nodes["value"], 0.0),
            depth=int(nodes["depth"].max()),
        )

    def predict(self, X: FloatArray) -> FloatArray:
        """Baseline plus the leaf of every tree, added in order; shape (n_rows,).

        Parameters
        ----------
        X : array, shape (n_rows, n_features)
        """
        answers = np.empty(len(X))
        for start in range(0, len(X), BATCH_ROWS):
            rows = slice(start, start + BATCH_ROWS)
            leaves = self.value[self._leaves(np.ascontiguousarray(X[rows]))]
            total = np.full(len(leaves), self.baseline)
            # One tree after the other, as scikit-learn adds them: a pairwise sum would differ in the last digits.
            for column in leaves.T:
                total += column
            answers[rows] = total
        return answers

    def _leaves(self, X: FloatArray) -> IntArray:
        node = np.broadcast_to(self.root, (len(X), len(self.root))).copy()
        first = X.shape[1] * np.arange(len(X))[:, None]
        # A leaf leads to itself whatever is compared there; it reads the first feature.
        feature, children = np.maximum(self.feature, 0), np.column_stack([self.right, self.left]).ravel()
        some_missing = np.isnan(X).any()
        for _ in range(self.depth):
            values = X.take(first + feature.take(node))
            goes_left = values <= self.threshold.take(node)
            if some_missing:
                goes_left = np.where(np.isnan(values), self.missing_left.take(node), goes_left)
            node = children.take(2 * node + goes_left)
        return node

    def to_dict(self) -> dict[str, Any]:
        """State as plain lists."""
        return {
            "baseline": self.baseline,
            "root": self.root.tolist(),
            "feature": self.feature.tolist(),
            "threshold": plain(self.threshold),
            "missing_left": self.missing_left.astype(int).tolist(),
            "left": self.left.tolist(),
            "right": self.right.tolist(),
            "value": self.value.tolist(),
            "depth": self.depth,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], n_features: int, path: str = "$") -> Trees:
        """Read back what `to_dict` wrote.

        Raises
        ------
        DataError
            With the JSON path of what is wrong: also a child or a feature that does not exist, or a path that never ends.
        """
        with Fields(document, path) as fields:
            threshold = fields.numbers("threshold", finite=False)
            count = len(threshold)
            trees = cls(
                baseline=fields.number("baseline"),
                root=np.array(fields.integers("root", upper=max(count - 1, 0)), dtype=np.int64),
                feature=np.array(fields.integers("feature", count, lower=-1, upper=n_features - 1), dtype=np.int64),
                threshold=threshold,
                missing_left=np.array(fields.integers("missing_left", count, upper=1), dtype=bool),
                left=np.array(fields.integers("left", count, upper=max(count - 1, 0)), dtype=np.int64),
                right=np.array(fields.integers("right", count, upper=max(count - 1, 0)), dtype=np.int64),
                value=fields.numbers("value", count),
                depth=fields.integer("depth", upper=1000),
            )
        if not (count and len(trees.root)):
            raise DataError("got no tree, expected at least one", place=f"{path}.root")
        own = np.arange(count)
        inner = trees.feature >= 0
        if np.any((trees.left <= own)[inner] | (trees.right <= own)[inner]) or np.any((trees.left != own)[~inner]):
            raise DataError("got children that do not lie below their node", place=f"{path}.left")
        return trees
