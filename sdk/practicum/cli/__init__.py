"""The command `practicum`."""
