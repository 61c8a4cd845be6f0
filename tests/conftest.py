"""What every test may count on: no setting of the reader's own shell reaches it, and a busy machine is no failure."""

import os

from hypothesis import HealthCheck, settings

# How long a draw takes says something of the machine, and nothing of the code.
settings.register_profile("practicum", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("practicum")

for name in [name for name in os.environ if name.startswith("PRACTICUM_") and name != "PRACTICUM_CORPUS"]:
    del os.environ[name]
