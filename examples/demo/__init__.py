"""The demo: real agents on the example systems, and what is left of it. Run as `python -m examples.demo`."""
