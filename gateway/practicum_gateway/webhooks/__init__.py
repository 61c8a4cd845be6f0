"""Webhooks: approvals asked and answered elsewhere, signed both ways, delivered at least once."""
