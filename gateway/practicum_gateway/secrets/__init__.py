"""Secrets that are kept outside of the store, and a master key that is."""
