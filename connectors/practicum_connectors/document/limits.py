"""How big and how deep a document may be before it is taken for an attack."""

MAX_BYTES = 64 * 1024 * 1024
"""The largest published documents are about 25 MB."""

MAX_DEPTH = 200
"""Nesting of mappings and lists; real documents stay below 60."""

MAX_NODES = 8_000_000
"""Values in the tree, aliases counted as often as they are used."""
