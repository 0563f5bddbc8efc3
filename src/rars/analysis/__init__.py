"""Studies of a dataset or run: ambiguity, identifier health, loss curves, the probe of the encoder."""
