"""Models: the port, who stands behind it, and what is kept of each call."""
