"""Any trained system behind HTTP: an engine that batches, the API, and the page."""
