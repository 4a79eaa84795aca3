"""Damages to valid inputs that know the structure: cells, keys, types, lines, tensors, bytes; one seed, one damage."""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import tomllib
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

DEEP = 3000
LONG = 140_000
"""Longer than the longest field that Python's reader of CSV takes by itself."""

SCALARS: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 7, 2**31, 2**53 + 1, -(2**63), 10**12, 10**400, -(10**400), 0.0, 0.5, -0.1, 1e308, -1e308,
    5e-324, float("nan"), float("inf"), "", "x", "0", "-1", "NaN", "1e999", "a,b", "§", "\x00", "<script>", "'\"", "y" * 300,
)  # fmt: skip
TREES: tuple[Any, ...] = ([], {}, [[]], [None], [0, "x"], {"a": 1}, [{}], [1, [2, [3]]])
WORDS = (
    *("", "-1", "0", "1", "3.5", "-0.1", "1e999", "1e-320", "nan", "inf", "-", "---25", "0x", "9" * 400, "9" * 5000, "1_000"),
    *(
        "١",
        "²",
        "1 000",
        "1,5",
        "abc",
        "None",
        "true",
        '"',
        "'",
        "`",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "\\",
        "\x00",
        "\ufeff",
        "\u2028",
    ),
    *("\r", "\n", "\n\n", ",", ";", "\t", ":", "=", "*", "**", "/", "%", "<f>:", "../x", "e", "1e", "+", "~", "#", "§", "Ⅷ"),
)
WORD = re.compile(r"[A-Za-z0-9_.]+|[^\sA-Za-z0-9_.]")


def mutated(name: str, content: bytes, rng: random.Random) -> bytes:
    """One to three damages to a file; its name's ending says what it holds."""
    suffix = PurePath(name).suffix
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        change = raw if rng.random() < 0.15 else BY_SUFFIX.get(suffix, text)
        try:
            content = change(content, rng)
        except Exception:  # noqa: BLE001 - what an earlier damage has left may have no structure any more
            content = raw(content, rng)
    return content


def raw(content: bytes, rng: random.Random) -> bytes:
    """Bytes flipped, cut, put in, overwritten or repeated, whatever they mean."""
    data = bytearray(content)
    at = rng.randrange(len(data) + 1)
    size = rng.choice((1, 1, 2, 4, 8, 40))
    kind = rng.randrange(6)
    if kind == 0 and data:
        data[min(at, len(data) - 1)] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del data[at:]
    elif kind == 2:
        data[at:at] = rng.randbytes(size)
    elif kind == 3:
        data[at : at + size] = rng.choice((b"\xff", b"\x00", b"\x7f", b"\x80")) * size
    elif kind == 4:
        data[at:at] = data[at : at + 10 * size]
    else:
        del data[at : at + size]
    return bytes(data)


def text(content: bytes, rng: random.Random) -> bytes:
    """Lines and words lost, doubled, exchanged or replaced."""
    lines = content.decode("utf-8", "surrogateescape").splitlines(keepends=True) or [""]
    at = rng.randrange(len(lines))
    kind = rng.randrange(8)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines[at:at] = [lines[at]] * rng.choice((1, 2, 30))
    elif kind == 2:
        other = rng.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == 3:
        lines[at] = rng.choice("([{-+*~'\"") * rng.choice((3, DEEP)) + lines[at]
    else:
        lines[at] = words(lines[at], rng)
    return "".join(lines).encode("utf-8", "surrogateescape")


def words(line: str, rng: random.Random) -> str:
    """One word of a line replaced, lost, doubled, or blown up."""
    found = list(WORD.finditer(line))
    if not found:
        return rng.choice(WORDS) + line
    start, end = rng.choice(found).span()
    word = line[start:end]
    kind = rng.randrange(6)
    if kind <= 2:
        word = rng.choice(WORDS)
    elif kind == 3:
        word = word * rng.choice((0, 2, 400))
    elif kind == 4:
        word = rng.choice(("-", "+", "0x", "1e", " ", '"')) + word
    else:
        word = rng.choice(found).group()
    return line[:start] + word + line[end:]


def cells(content: bytes, rng: random.Random) -> bytes:
    """Cells, rows and columns of a CSV damaged; sometimes any text damage."""
    if rng.random() < 0.25:
        return text(content, rng)
    rows = [line.split(",") for line in content.decode("utf-8", "surrogateescape").splitlines()] or [[""]]
    row = rng.choice((0, rng.randrange(len(rows)), rng.randrange(len(rows))))
    column = rng.randrange(len(rows[row]))
    kind = rng.randrange(8)
    if kind <= 2:
        rows[row][column] = rng.choice(WORDS)
    elif kind == 3:
        rows[row][column] = rng.choice(("z" * LONG, '"' + "z" * LONG + '"', '"a\nb"', "9" * LONG))
    elif kind == 4:
        rows[row].insert(column, rng.choice(WORDS))
    elif kind == 5:
        for each in rows:
            del each[column : column + 1]
    elif kind == 6:
        rows[row:row] = [list(rows[row])] * rng.choice((1, 5))
    else:
        for each in rows[1:]:
            each[column : column + 1] = [rng.choice(("-1", "0", "", "x", "7"))]
    return "\n".join(",".join(each) for each in rows).encode("utf-8", "surrogateescape") + rng.choice((b"\n", b""))


def tree(document: Any, rng: random.Random) -> Any:
    """The document with one value changed, lost, doubled, renamed or nested; what is not on the way is shared."""
    if not isinstance(document, (dict, list)) or not document or rng.random() < 0.05:
        return value_instead(document, rng)
    keys: Sequence[Any] = list(document) if isinstance(document, dict) else range(len(document))
    key = rng.choice(keys)
    changed: Any = dict(document) if isinstance(document, dict) else list(document)
    if isinstance(document[key], (dict, list)) and document[key] and rng.random() < 0.85:
        changed[key] = tree(document[key], rng)
        return changed
    kind = rng.randrange(8)
    if kind == 0:
        del changed[key]
    elif kind == 1 and isinstance(changed, dict):
        changed[rng.choice(("x", str(key) + "x", "", "__class__"))] = changed.pop(key)
    elif kind == 1:
        changed[key:key] = [changed[key]] * rng.choice((1, 50))
    elif kind == 2:
        other = rng.choice(keys)
        changed[key], changed[other] = changed[other], changed[key]
    elif kind == 3 and isinstance(changed, list):
        changed = changed[: rng.randrange(len(changed) + 1)]
    else:
        changed[key] = value_instead(document[key], rng)
    return changed


def value_instead(value: Any, rng: random.Random) -> Any:
    """Another value, of the same kind or of none."""
    kind = rng.randrange(8)
    if kind <= 2 and isinstance(value, (int, float)) and not isinstance(value, bool):
        return rng.choice((-value, value + 1, value * 10.0**150, value * 1000, 0, str(value), value - 0.5, [value]))
    if kind <= 1 and isinstance(value, str):
        return words(value, rng)
    if kind == 3:
        return nested(value, rng.choice((1, 3, 20, 100)), rng)
    return rng.choice(SCALARS) if rng.random() < 0.75 else rng.choice(TREES)


def nested(value: Any, depth: int, rng: random.Random) -> Any:
    """The value inside lists or objects inside one another."""
    for _ in range(depth):
        value = [value] if rng.random() < 0.7 else {"a": value}
    return value


def json_file(content: bytes, rng: random.Random) -> bytes:
    """A JSON document with one value changed; sometimes any text damage, a doubled key, or brackets without end."""
    kind = rng.random()
    if kind < 0.03:
        return b"[" * rng.choice((DEEP, 100 * DEEP))
    if kind < 0.15:
        return text(content, rng)
    changed = json.dumps(tree(json.loads(content), rng)).encode()
    return changed[:-1] + b"," + changed[1:] if kind > 0.97 and changed[:1] == b"{" else changed


def toml_file(content: bytes, rng: random.Random) -> bytes:
    """A TOML document with one value changed; half of the time any text damage."""
    changed = None if rng.random() < 0.4 else tree(tomllib.loads(content.decode("utf-8")), rng)
    if not isinstance(changed, dict):
        return text(content, rng)
    return "".join(f"{json.dumps(str(key))} = {toml_value(value)}\n" for key, value in changed.items()).encode()


def toml_value(value: Any) -> str:
    """A value in one line of TOML; nothing is a word that TOML does not know."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {toml_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if (isinstance(value, float) and value != value) or value in (float("inf"), float("-inf")):
        return str(value)
    return json.dumps(value)


def packed(content: bytes, rng: random.Random) -> bytes:
    """A gzipped CSV: its cells damaged, or its packing."""
    return raw(content, rng) if rng.random() < 0.25 else gzip.compress(cells(gzip.decompress(content), rng), 1)


def arrays(content: bytes, rng: random.Random) -> bytes:
    """A NumPy archive: an array lost, of another shape, type or content, or the archive's bytes damaged."""
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        found = {name: stored[name] for name in stored.files}
    if not found or rng.random() < 0.4:
        return raw(content, rng)
    name = rng.choice(sorted(found))
    array = found.pop(name)
    changes: tuple[Callable[[], Any], ...] = (
        lambda: np.ones(()),
        lambda: array[:0],
        lambda: array.ravel(),
        lambda: array[..., None],
        lambda: array.astype(np.float64) - 1e3,
        lambda: array.astype("U5"),
        lambda: array.astype(bool),
        lambda: array.astype(complex),
        lambda: np.full_like(array, np.iinfo(np.int64).max) if array.dtype == np.int64 else array * np.float32("nan"),
        lambda: array[: len(array) // 2] if array.ndim else array,
        lambda: np.zeros(array.shape, dtype=[("a", "i4")]),
    )
    buffer = io.BytesIO()
    kept = found if rng.random() < 0.2 else found | {rng.choice((name, name, "x")): rng.choice(changes)()}
    np.savez(buffer, **kept)
    return buffer.getvalue()


ATTRIBUTES: tuple[Any, ...] = (0, -1, 3, 2**40, 0.5, "x", b"\xff", [0], [-1, -1], [1] * 5, [2**40, 2**40], [0.5], ["x"])
OPERATORS = ("Conv", "Gemm", "Add", "Mul", "Reshape", "Resize", "Concat", "Clip", "ReduceMean", "Gather", "Squeeze", "Transpose")


def graph(content: bytes, rng: random.Random) -> bytes:
    """An ONNX model: a node, attribute, dimension or tensor changed."""
    import onnx

    model = onnx.load_from_string(content)
    if rng.random() < 0.2 or not model.graph.node:
        return raw(content, rng)
    node = rng.choice(model.graph.node)
    kind = rng.randrange(8)
    if kind == 0 and node.attribute:
        del node.attribute[rng.randrange(len(node.attribute))]
    elif kind <= 2 and node.attribute:
        attribute = rng.choice(node.attribute)
        attribute.CopyFrom(onnx.helper.make_attribute(attribute.name, rng.choice(ATTRIBUTES)))
    elif kind == 3:
        del node.input[rng.randrange(len(node.input) + 1) :]
    elif kind == 4:
        del node.output[:]
    elif kind == 5:
        node.op_type = rng.choice(OPERATORS)
    elif kind == 6 and model.graph.initializer:
        tensor = rng.choice(model.graph.initializer)
        del tensor.dims[:]
        tensor.dims.extend(rng.choice(((), (0,), (-1, 2), (2**40, 2**40), (1, 1, 1, 1), (3,))))
        tensor.data_type = rng.choice((0, 1, 7, 99, 8))
    else:
        for value in (*model.graph.input, *model.graph.output):
            for dim in value.type.tensor_type.shape.dim:
                dim.dim_value = rng.choice((0, 1, 3, -1, 2**50, 8))
    return bytes(model.SerializeToString())


BY_SUFFIX: dict[str, Callable[[bytes, random.Random], bytes]] = {
    ".csv": cells,
    ".gz": packed,
    ".json": json_file,
    ".toml": toml_file,
    ".npz": arrays,
    ".onnx": graph,
    ".o": raw,
    ".bin": raw,
    ".npy": raw,
}
"""How a file is damaged by its name's ending; others are text."""
