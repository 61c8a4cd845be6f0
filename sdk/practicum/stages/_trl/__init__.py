"""The one place that touches torch, transformers, peft and TRL, and TRL's private hooks among them (1.16).

Everything above speaks of tokens, rows and settings; nothing of these libraries leaves here.
"""
