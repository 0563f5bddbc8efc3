"""Category paths of a catalogue as numbers, without a Python object per item.

Owns: the code of each level of each path. Ignores the tree that is made of them (``rars.tree.categories``).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rars.arrays import Ints
from rars.tree import END


def path_codes(column: pa.ChunkedArray, levels: int) -> tuple[Ints, list[str]] | None:
    """The first ``levels`` of every path, (items, depth), and the name of each code, in order.

    ``END`` stands where a path has ended. A level that no item has is left out; where no item has a path at
    all, there is None.

    >>> codes, names = path_codes(pa.chunked_array([[["Home", "Mugs"], None], [["Toys", "Mugs", "Big"]]]), 2)
    >>> names, (codes == END).sum().item(), [names[code] for code in codes[2]]
    (['Big', 'Home', 'Mugs', 'Toys'], 2, ['Toys', 'Mugs'])
    """
    sizes = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    depth = min(levels, int(sizes.max(initial=0)))
    if not depth:
        return None
    flat = pa.chunked_array(
        [pc.list_flatten(part) for part in column.chunks], column.type.value_type
    )
    encoded = flat.combine_chunks().dictionary_encode()
    if encoded.null_count:
        raise ValueError("a level of a path has no name")
    names = encoded.dictionary.to_pylist()
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), dtype=np.int32)
    rank[order] = np.arange(len(names), dtype=np.int32)
    code = rank[encoded.indices.to_numpy()]
    first = np.cumsum(sizes) - sizes
    codes = np.full((len(sizes), depth), END, dtype=np.int32)
    for level in range(depth):
        has = np.flatnonzero(sizes > level)
        codes[has, level] = code[first[has] + level]
    return codes, [names[at] for at in order]
