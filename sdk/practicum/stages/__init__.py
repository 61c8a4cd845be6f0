"""Ways of making an agent better, each measured on the same tasks."""
