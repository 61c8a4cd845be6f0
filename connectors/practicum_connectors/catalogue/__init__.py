"""From operations to tools: names, schemas, effects, search."""
