"""Alembic's migrations, each a step forward from a released schema."""
