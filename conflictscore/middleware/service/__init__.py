"""An OpenAI-compatible HTTP service that checks the answers of another endpoint."""

from conflictscore.errors import ConfigurationError, install_hint

try:
    import fastapi as _fastapi  # noqa: F401
    import hypercorn as _hypercorn  # noqa: F401
    import prometheus_client as _prometheus_client  # noqa: F401
except ModuleNotFoundError:
    raise ConfigurationError(
        f"the service needs the extra [serve]: {install_hint('serve')}"
    ) from None

from conflictscore.middleware.service.app import create_app
from conflictscore.middleware.service.service_settings import ServiceSettings

__all__ = ["ServiceSettings", "create_app"]
