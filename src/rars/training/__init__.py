"""Packed batches, the loop, checkpoints and exact resume, the journal."""
