"""From a response to what a model is told: parseable, bounded, with the way to the next page."""
