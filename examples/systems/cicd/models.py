"""What the CI/CD system takes and answers."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field


class BuildStatus(StrEnum):
    """Where a build stands; a passed build is what people call green."""

    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"


class DeploymentStatus(StrEnum):
    """Where a deployment stands."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"


class Build(BaseModel):
    """A build of a service."""

    id: int
    service: str
    status: BuildStatus
    retry_of: int | None = Field(default=None, description="The build it repeats")


class NewDeployment(BaseModel):
    """A deployment to start."""

    model_config = ConfigDict(extra="forbid")

    build_id: int = Field(description="Build number")


class Deployment(BaseModel):
    """A build on its way to production, or there."""

    id: int
    service: str
    build_id: int
    status: DeploymentStatus


class Fault(BaseModel):
    """What went wrong."""

    code: str
    message: str


class ErrorBody(BaseModel):
    """The body of an error."""

    error: Fault
