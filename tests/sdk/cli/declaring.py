"""A tenant of one test, and what is declared of it."""

import json
from pathlib import Path
from typing import Any

from practicum.client import Practicum


class Tenant:
    """A tenant of one test, and its declaration."""

    def __init__(self, folder: Path, url: str, name: str) -> None:
        self.folder, self.url, self.name = folder, url, name
        self.said: dict[str, Any] = {"key": f"file:{name}.key"}

    def declare(self, **parts: Any) -> None:
        self.said |= parts
        self.said = {name: part for name, part in self.said.items() if part is not None}
        text = json.dumps({"practicum": 1, "tenants": {self.name: self.said}})  # JSON is YAML too
        (self.folder / "practicum.yaml").write_text(text)

    def client(self) -> Practicum:
        return Practicum(self.url, (self.folder / f"{self.name}.key").read_text().strip())
