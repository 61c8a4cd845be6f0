"""Turn OpenAPI documents into tools, calls into requests, and responses into observations: a pure library."""
