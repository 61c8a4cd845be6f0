"""HTTP: one router per noun, problem+json for every error."""
