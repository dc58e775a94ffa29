"""Credentials of the client: user, password, database."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from hindmost.core.plan.secrets import conceal_text, reveal_text


class Login(BaseModel):
    """Credentials from options such as ``--user``, the URL, or ``[login]`` of a target file.

    A password is a reference (``env:NAME``, ``file:PATH``). A plain password is replaced by a reference that
    only this process can resolve (`hindmost.core.plan.secrets`).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    user: str | None = Field(default=None, description="the user")
    password: str | None = Field(default=None, description="env:NAME or file:PATH with the password")
    database: str | None = Field(default=None, description="number (redis) or name (PostgreSQL)")
    protocol: int | None = Field(default=None, ge=2, le=3, description="3 for redis's RESP3")

    @field_validator("password")
    @classmethod
    def _reference(cls, value: str | None) -> str | None:
        return None if value is None else conceal_text("password", value)

    def engine(self, *, secrets: bool) -> dict[str, Any]:
        """Return the form in the engine's plan; with `secrets` for a client, never to be stored.

        Raises
        ------
        UsageError
            If the password's reference cannot be resolved.
        """
        document = self.model_dump(exclude_none=True)
        if secrets and self.password is not None:
            document["password"] = reveal_text(self.password, "the password")
        return document
