"""What a new registration says, for whoever has to say yes to it: all but documents, examples and credentials."""

import json
from urllib.parse import urlsplit

from practicum.contracts.base import JsonObject
from practicum.contracts.comparison import Difference, differences
from practicum.contracts.connectors import ConnectorSpec, SchemesAuth
from practicum.contracts.issuers import Issuer
from practicum.contracts.models import ModelSpec
from practicum.contracts.webhooks import Webhook, WebhookRequest


def connector_said(spec: ConnectorSpec) -> tuple[Difference, ...]:
    """What the registration of a system says; of a credential, its kind."""
    left_out = {"name": True, "document": True, "documents": True, "auth": True, "practice": {"auth"}}
    auth = spec.auth
    kinds = [one.kind for one in auth.schemes.values()] if isinstance(auth, SchemesAuth) else [auth.kind]
    return (
        *_said(spec.model_dump_json(exclude=left_out, exclude_defaults=True)),
        Difference(where="auth", after=", ".join(kinds), secret=True),
    )


def model_said(spec: ModelSpec) -> tuple[Difference, ...]:
    """What the registration of a model says."""
    left_out = {"alias", "api_key", "examples"}
    key = () if spec.api_key is None else (Difference(where="api_key", secret=True),)
    return (*_said(spec.model_dump_json(exclude=left_out, exclude_defaults=True)), *key)


def issuer_said(issuer: Issuer) -> tuple[Difference, ...]:
    """On which terms an issuer's tokens would be taken."""
    return _said(issuer.model_dump_json(exclude={"name"}, exclude_defaults=True))


def webhook_said(request: WebhookRequest, known: Webhook | None) -> tuple[Difference, ...]:
    """What a webhook would say otherwise; of its address, which may be a secret, the origin alone is known."""
    before: JsonObject = {} if known is None else {"origin": known.origin, "private_network": known.private_network}
    after: JsonObject = {"origin": _origin(request.url), "private_network": request.private_network}
    return differences(before, after)


def _origin(url: str) -> str:
    """Scheme, host and port, as the gateway shows them: with the port always written out."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    host = (parts.hostname or "").lower()
    return f"{parts.scheme.lower()}://{f'[{host}]' if ':' in host else host}:{port}"


def _said(text: str) -> tuple[Difference, ...]:
    fields = json.loads(text)
    return tuple(Difference(where=name, after=value) for name, value in fields.items())
