"""Training: packed batches, candidate lists, pseudo-queries, the loop with exact resume, the journal."""
