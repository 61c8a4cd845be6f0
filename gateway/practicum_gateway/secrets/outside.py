"""What the operator set of secrets outside: where they are for each tenant, and whether the master key is there too."""

import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit

from practicum.errors import ConfigurationError
from practicum_connectors.sender import new_tls
from practicum_gateway.secrets.mounted import MountedSecrets
from practicum_gateway.secrets.openbao import AppRole, FixedToken, Kubernetes, KvSecrets, Login, OpenBao, TokenFile
from practicum_gateway.secrets.source import Secrets, SecretSource
from practicum_gateway.secrets.transit import TransitMasterKey
from practicum_gateway.settings import Settings
from practicum_gateway.store.vault import LocalMasterKey

_TENANT = "{tenant}"
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True, slots=True)
class Outside:
    """Makes the secrets of each tenant, over one connection to the vault.

    Attributes:
        settings: what the operator set.
        bao: the vault, where there is one.
    """

    settings: Settings
    bao: OpenBao | None = None

    def secrets(self, tenant: str) -> Secrets:
        """The secrets of a tenant that are kept outside."""
        settings, sources = self.settings, dict[str, SecretSource]()
        if settings.secrets_dir is not None:
            sources["mounted"] = MountedSecrets(settings.secrets_dir, tenant)
        if self.bao is not None:
            prefix = settings.vault_prefix.replace(_TENANT, tenant)
            namespace = settings.vault_secrets_namespace
            within = None if namespace is None else namespace.replace(_TENANT, tenant)
            sources["vault"] = KvSecrets(self.bao, settings.vault_mount, prefix, within)
        return Secrets(sources, settings.secret_seconds)

    def master_key(self) -> TransitMasterKey | None:
        """The master key in the vault, where the operator chose one."""
        if self.bao is None or self.settings.vault_transit_key is None:
            return None
        former = [key.get_secret_value() for key in self.settings.former_master_keys]
        local = LocalMasterKey(former[0], former[1:]) if former else None
        return TransitMasterKey(
            self.bao, self.settings.vault_transit_mount, self.settings.vault_transit_key, former=local
        )

    async def aclose(self) -> None:
        """Close the connections."""
        if self.bao is not None:
            await self.bao.aclose()


def outside_of(settings: Settings) -> Outside:
    """What was set, checked; nothing is asked yet.

    Raises:
        ConfigurationError: the settings do not fit each other.
    """
    if settings.vault_url is None:
        given = [name for name in settings.model_fields_set if name.startswith("vault_")]
        if given:
            raise ConfigurationError(
                f"PRACTICUM_{min(given).upper()} is set and PRACTICUM_VAULT_URL is not.", mend="Set both or neither."
            )
        return Outside(settings)
    _require_safe(settings.vault_url)
    if _TENANT not in settings.vault_prefix + (settings.vault_secrets_namespace or ""):
        raise ConfigurationError(
            f"Neither PRACTICUM_VAULT_PREFIX nor PRACTICUM_VAULT_SECRETS_NAMESPACE holds {_TENANT}.",
            mend="Tenants could name each other's secrets: put it into one of them.",
        )
    if settings.vault_transit_key is not None and settings.master_key is not None:
        raise ConfigurationError(
            "Both PRACTICUM_MASTER_KEY and PRACTICUM_VAULT_TRANSIT_KEY are set.",
            mend="To move to the vault, name the key of before in PRACTICUM_FORMER_MASTER_KEYS.",
        )
    tls = None
    if settings.vault_ca_file is not None:
        tls = new_tls()
        try:
            tls.load_verify_locations(cafile=settings.vault_ca_file)
        except (OSError, ssl.SSLError):
            raise ConfigurationError(
                f"PRACTICUM_VAULT_CA_FILE: {settings.vault_ca_file} holds no certificates.", mend="Give a PEM file."
            ) from None
    return Outside(settings, OpenBao(settings.vault_url, _login(settings), namespace=settings.vault_namespace, tls=tls))


def _require_safe(url: str) -> None:
    try:
        parts = urlsplit(url)
        safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    except ValueError:
        parts, safe = None, False
    if parts is None or not safe or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ConfigurationError(
            "PRACTICUM_VAULT_URL is no https address.",
            mend="Write it as https://vault.internal:8200; http is taken on this machine alone.",
        )


def _login(settings: Settings) -> Login:
    """The one way to log in that was set.

    Raises:
        ConfigurationError: none or several were.
    """
    mount, ways = settings.vault_auth_mount, list[Login]()
    if settings.vault_token is not None:
        ways.append(FixedToken(settings.vault_token.get_secret_value()))
    if settings.vault_token_file is not None:
        ways.append(TokenFile(settings.vault_token_file))
    if settings.vault_role_id is not None and settings.vault_secret_id is not None:
        secret = settings.vault_secret_id.get_secret_value()
        ways.append(AppRole(mount or "approle", settings.vault_role_id, secret))
    if settings.vault_role is not None:
        ways.append(Kubernetes(mount or "kubernetes", settings.vault_role, settings.vault_kubernetes_token_file))
    if len(ways) != 1:
        raise ConfigurationError(
            f"{'No' if not ways else 'More than one'} way to log into the vault is set.",
            mend="Set one of PRACTICUM_VAULT_TOKEN, PRACTICUM_VAULT_TOKEN_FILE, PRACTICUM_VAULT_ROLE_ID with "
            "PRACTICUM_VAULT_SECRET_ID, and PRACTICUM_VAULT_ROLE.",
        )
    return ways[0]
