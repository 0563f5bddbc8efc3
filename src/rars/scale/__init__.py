"""Work of any size by any number of processes and machines: shards, engines, memory, costs.

Owns: cutting work into pieces that are done once and kept (``shards``), who does them (``engine``: this
process, several on this machine, or the nodes of a Ray cluster), what long work will cost (``cost``) and what
it took (``memory``). Ignores what the work is: a room that has some hands over a plain function.
"""

from rars.scale.as_needed import AS_NEEDED
from rars.scale.choosing import choose
from rars.scale.engine import INLINE, Engine

__all__ = ["AS_NEEDED", "INLINE", "Engine", "choose"]
