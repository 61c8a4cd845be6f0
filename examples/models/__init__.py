"""The local model's adapter: how it is made, what it was measured at."""
