"""The model of identifiers: backbone, decoder over prefix trees, category states, prior; the tree head."""
