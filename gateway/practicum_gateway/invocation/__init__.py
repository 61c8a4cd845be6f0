"""Invocation: the one way in which a tool is called."""
