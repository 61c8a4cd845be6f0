"""Calls about webhooks: who is told of approvals elsewhere."""

from practicum.client.call import Call, build, nothing, path, read
from practicum.contracts.access import GRACE_SECONDS
from practicum.contracts.webhooks import NewWebhook, Webhook, WebhookAttempt, WebhookRequest, WebhookRotation


def add(name: str, url: str, *, private_network: bool = False) -> Call[NewWebhook]:
    """Tell a receiver of approvals from now on; its secrets are shown this once.

    Args:
        name: how it is called here.
        url: where messages are posted.
        private_network: whether it may be at a private address, and without encryption.

    Raises:
        ForbiddenError: the key is no administrator's.
        ConflictError: there is one of this name.
        RequestError: its address does not fit, is not known, or is private without being allowed to.
    """
    return Call(
        "POST",
        "/v1/webhooks",
        read(NewWebhook),
        body=build(WebhookRequest, "webhook", name=name, url=url, private_network=private_network),
        if_lost=f"It may be registered, with secrets that nobody holds: have others with webhooks.rotate('{name}').",
    )


def fetch_all() -> Call[list[Webhook]]:
    """The webhooks, by name, with how their latest attempt went."""
    return Call("GET", "/v1/webhooks", read(list[Webhook]))


def try_out(name: str) -> Call[WebhookAttempt]:
    """Post a message that tells nothing, once, and say what became of it.

    Raises:
        NotFoundError: there is none of this name.
    """
    return Call("POST", path("/v1/webhooks/{}/test", name), read(WebhookAttempt))


def rotate(name: str, *, grace_seconds: int = GRACE_SECONDS) -> Call[NewWebhook]:
    """Give a webhook other secrets; they are shown this once.

    Args:
        name: the webhook.
        grace_seconds: how long the old ones go on beside them; 0 withdraws them at once.

    Raises:
        NotFoundError: there is none of this name.
    """
    return Call(
        "POST",
        path("/v1/webhooks/{}/rotate", name),
        read(NewWebhook),
        body=build(WebhookRotation, "rotation", grace_seconds=grace_seconds),
        if_lost="It may have secrets that nobody holds: rotate again while the old ones go on.",
    )


def remove(name: str) -> Call[None]:
    """Tell it nothing any more, and take no answer through it.

    Raises:
        NotFoundError: there is none of this name.
    """
    return Call("DELETE", path("/v1/webhooks/{}", name), nothing)
