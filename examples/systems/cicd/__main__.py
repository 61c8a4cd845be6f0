"""Serves the cicd system: `python -m examples.systems.cicd --port P --data DIR [--seed N] [--host H]`."""

from examples.systems.cicd.app import create_app
from examples.systems.serving import serve

if __name__ == "__main__":
    serve("cicd", create_app)
