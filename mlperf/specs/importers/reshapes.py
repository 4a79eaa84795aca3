"""Reshapes of foreign tensors: nothing, a flatten, tokens, maps of what is flat; in groups and back, a shuffle of maps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest

from mlperf.specs.importers.imported import FLAT, MAPS_FIRST, TOKENS_LAST, Imported

GROUP_ROWS, GROUP_COLUMNS = "bgchw", "bcghw"
"""Maps of each group together, and the first maps of all groups together."""


def reshaped(imported: Imported, tensor: str, source: str, sizes: Sequence[int]) -> bool:
    """``tensor`` is ``source`` with these sizes, that of the batch among them; False where no layer does that.

    Sizes as they were are the same tensor. All in a row are a flatten, maps and one more tokens; what is flat may become maps.
    """
    layout, shape, wanted = imported.layout(source), imported.shape(source), _of_a_sample(imported, source, sizes)
    own = imported.sizes(source)
    if wanted == tuple(own[letter] for letter in layout if letter != "b"):
        imported.same(tensor, source)
    elif layout == GROUP_COLUMNS and wanted == (shape.n_maps, shape.height, shape.width):
        imported.add(tensor, "shuffle", [source], groups=imported.grouped[source])
        imported.layouts[tensor] = MAPS_FIRST
    elif layout == MAPS_FIRST and wanted == (shape.n_maps, shape.map_size):
        imported.add(tensor, "tokens", [source])
    elif layout == MAPS_FIRST and len(wanted) == 4 and wanted[2:] == (shape.height, shape.width):
        imported.same(tensor, source, GROUP_ROWS)
        imported.grouped[tensor] = wanted[0]
    elif wanted == (shape.size,) and layout != GROUP_COLUMNS:
        imported.add(tensor, "flatten", [source])
    elif len(wanted) == 3 and wanted[1:] == (1, 1) and layout == FLAT:
        imported.same(tensor, source, MAPS_FIRST)
    elif wanted == (1, shape.size) and layout == FLAT:
        imported.add(tensor, "unflatten", [source], n_maps=1, output_size=(shape.size, 1))
        imported.layouts[tensor] = TOKENS_LAST
    elif len(wanted) == 3 and (layout == FLAT or (layout == TOKENS_LAST and shape.n_maps in (1, wanted[0]))):
        imported.add(tensor, "unflatten", [source], n_maps=wanted[0], output_size=wanted[1:])
        imported.layouts[tensor] = MAPS_FIRST
    else:
        return False
    return True


def groups_swapped(imported: Imported, tensor: str, source: str, order: Sequence[int]) -> bool:
    """Rows and columns of maps in each other's place."""
    if source not in imported.grouped or imported.layout(source) != GROUP_ROWS:
        return False
    if list(order) != [0, 2, 1, 3, 4]:
        return False
    imported.same(tensor, source, GROUP_COLUMNS)
    imported.grouped[tensor] = imported.grouped[source]
    return True


def _of_a_sample(imported: Imported, source: str, sizes: Sequence[int]) -> tuple[int, ...]:
    """Sizes behind that of the batch: 0 keeps one, -1 stands for what remains; none where they do not hold a sample."""
    own, layout = imported.sizes(source), imported.layout(source)
    kept = [own[letter] for letter in layout[1:]] if layout.startswith("b") else []
    given = [size or before for size, before in zip_longest(sizes[1:], kept[: len(sizes) - 1], fillvalue=0)]
    size, n_open = imported.shape(source).size, given.count(-1)
    if not given or not kept or min(given) < -1 or 0 in given or n_open > (sizes[0] != -1):
        return ()
    known = math.prod(each for each in given if each > 0)
    wanted = tuple(size // known if each == -1 else each for each in given)
    return wanted if math.prod(wanted) == size else ()
