"""Audit: who did what to what, with which outcome, in a log that shows what was changed."""
