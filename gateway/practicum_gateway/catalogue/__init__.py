"""The catalogue: the registered connectors, their tools and their credentials."""
