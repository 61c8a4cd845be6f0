"""What the CRM takes and answers."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
Email = Annotated[str, StringConstraints(pattern=r"^[^@\s]+@[^@\s]+\.[^@\s]+$", max_length=120)]


class Given(BaseModel):
    """A request body; what it does not know is an error."""

    model_config = ConfigDict(extra="forbid")


class Priority(StrEnum):
    """How urgent a ticket is."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


class Customer(BaseModel):
    """A customer."""

    id: str
    name: str
    email: str
    city: str


class CustomerChange(Given):
    """The fields of a customer to change."""

    name: Text | None = Field(default=None, description="New name")
    email: Email | None = Field(default=None, description="New email address")
    city: Text | None = Field(default=None, description="New city")

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_dump(exclude_none=True):
            raise ValueError("name at least one field to change")
        return self


class NewNote(Given):
    """A note to add."""

    text: Text = Field(description="Text of the note")


class Note(BaseModel):
    """A note on a customer."""

    id: int
    customer_id: str
    text: str


class NewTicket(Given):
    """A ticket to open."""

    customer_id: str = Field(description="Customer id")
    subject: Text = Field(description="What it is about")
    priority: Priority = Field(description="Urgency")


class Ticket(BaseModel):
    """A ticket."""

    id: int
    customer_id: str
    subject: str
    priority: Priority
    status: str


class CustomerPage(BaseModel):
    """Some customers, and where to go on."""

    items: list[Customer]
    next_cursor: str | None = Field(default=None, description="Pass as cursor for the next page; absent on the last")


class NotePage(BaseModel):
    """Some notes, and where to go on."""

    items: list[Note]
    next_cursor: str | None = Field(default=None, description="Pass as cursor for the next page; absent on the last")
