"""The CI/CD system: builds, their logs and deployments, behind a bearer token; work it accepts is done later."""
