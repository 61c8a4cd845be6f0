"""Serves the erp system: `python -m examples.systems.erp --port P --data DIR [--seed N] [--host H]`."""

from examples.systems.erp.app import create_app
from examples.systems.serving import serve

if __name__ == "__main__":
    serve("erp", create_app)
