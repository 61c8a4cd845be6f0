"""The store: SQLite in WAL mode embedded, PostgreSQL in production, through the same code."""
