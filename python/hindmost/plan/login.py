"""Who the client is, where a server asks: user, password, database."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from hindmost.plan.secrets import concealed, revealed


class Login(BaseModel):
    """What ``--user`` and its like, the URL, or ``[login]`` of a target file say.

    A password is a reference to where it is found (``env:NAME``, ``file:PATH``); one in plain words becomes a
    reference that this process alone can look up (`hindmost.plan.secrets`).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    user: str | None = Field(default=None, description="the user")
    password: str | None = Field(default=None, description="env:NAME or file:PATH with the password")
    database: str | None = Field(default=None, description="number (redis) or name (PostgreSQL)")
    protocol: int | None = Field(default=None, ge=2, le=3, description="3 for redis's RESP3")

    @field_validator("password")
    @classmethod
    def _reference(cls, value: str | None) -> str | None:
        return None if value is None else concealed("password", value)

    def engine(self, *, secrets: bool) -> dict[str, Any]:
        """As the engine's plan has it; with `secrets` as a client needs it, never to be stored.

        Raises
        ------
        UsageError
            If the password's reference leads nowhere.
        """
        told = self.model_dump(exclude_none=True)
        if secrets and self.password is not None:
            told["password"] = revealed(self.password, "the password")
        return told
