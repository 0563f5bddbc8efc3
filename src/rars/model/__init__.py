"""Backbone, retriever, latent category states and the training-only tree head."""
