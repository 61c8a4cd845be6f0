"""The gateway: the only door between agents, models and systems."""
