"""Durable episodes on Temporal."""
