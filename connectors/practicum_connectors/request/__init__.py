"""From arguments to a request that is known to say what was asked for."""
