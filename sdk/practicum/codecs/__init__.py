"""How a model without native tools reads tools and writes calls.

The gateway, the trainer and the evaluator import the same pure functions, so that what is trained on is what is served.
"""
