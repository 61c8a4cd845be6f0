"""Serves the crm system: `python -m examples.systems.crm --port P --data DIR [--seed N] [--host H]`."""

from examples.systems.crm.app import create_app
from examples.systems.serving import serve

if __name__ == "__main__":
    serve("crm", create_app)
