"""Practicum: run tool-using agents over your own systems, and make better models of what they did."""
