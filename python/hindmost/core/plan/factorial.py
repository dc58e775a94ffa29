"""The study file of ``hindmost attribute``: target, loads, factors, and the precision of the design.

::

    name = "memcached on two processors"
    target = "memcached"                       # as for hindmost measure; restarted for each run
    quantiles = "50,95,99"
    delta = "5%"                               # effects below do not matter

    [measure]                                  # any option of hindmost measure
    duration = "3s"
    connections = 16

    [[load]]
    name = "high"
    rate = "60k"

    [[factor]]                                 # a name, what it sets, its levels (the first: present)
    name = "huge pages"
    knob = "thp"
    levels = ["madvise", "always"]

    [design]
    blocks = "10..20"                          # runs of each cell; or budget = "30m"


What a factor may set is defined in `hindmost.core.knobs`; everything else is checked here.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from hindmost.core.documents import parse_toml, read_bytes
from hindmost.core.plan.positions import SourceText
from hindmost.core.plan.problems import to_usage_error
from hindmost.errors import ArgumentError, UsageError

LARGEST_BYTES = 1 << 20
SCHEMA_NAME = "hindmost.factorial/1"
FOR_MEASURE = (
    "server_cpus",
    "client_cpus",
    "clients",
    "threads",
    "connections",
    "duration",
    "warmup",
    "remake",
    "timeout",
    "arrivals",
    "schedule",
    "workload",
    "accept",
    "check",
    "follow",
    "method",
    "body",
    "header",
    "requests",
    "descriptors",
    "requests_per_connection",
    "pacing",
    "io",
    "stamps",
    "sentinel",
    "samples",
    "fleet",
)
"""Options of ``hindmost measure`` that a study file may set; all others follow from the file."""


def _text(value: object) -> object:
    """Convert TOML's numbers and booleans to the form of levels: 4, 0.5, on, off."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value) if isinstance(value, int | float) else value


Text = Annotated[str, BeforeValidator(_text, json_schema_input_type=str | int | float | bool)]
Level = Annotated[Text, Field(max_length=200)]
Name = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[^:,\n]+$")]
Cell = dict[str, Level]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class LoadLevel(_Strict):
    """One load at which all cells are measured; each load has its own result."""

    name: Name = Field(description="name in the report: low, high")
    rate: Text = Field(description="requests per second of all clients together, like 50k")


class FactorTable(BaseModel):
    """One factor: its name, its levels (the first is the present setting), and what it sets."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    name: Name
    levels: list[Level] = Field(min_length=2, max_length=12)
    about: str = ""
    change_time: Text | None = Field(
        default=None,
        description="time that a change takes, like 40s: the level is then kept for several runs in a row"
        " (split plot). For settings of the host and commands",
    )

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if len(set(self.levels)) < len(self.levels):
            raise ArgumentError(
                "duplicate-name",
                f"{self.name!r} has a level twice: {', '.join(self.levels)}",
                name=self.name,
                value=list(self.levels),
            )
        return self

    @property
    def setting(self) -> dict[str, Any]:
        """The setting, in the terms of `hindmost.core.knobs`."""
        return dict(self.model_extra or {})


class DesignTable(_Strict):
    """Which cells are run, and how often."""

    kind: Literal["auto", "full", "fraction", "screening"] = Field(
        default="auto", description="auto: full if the budget allows it, else the largest fraction"
    )
    resolution: Literal[3, 4, 5] = Field(default=5, description="of a fraction, at least")
    blocks: Text | None = Field(
        default=None, description="minimum and maximum runs of each cell, like 10..20; default 10..20"
    )
    budget: str | None = Field(default=None, description="time for all runs, like 30m; decides the blocks")
    control: Cell = Field(default={}, description="levels of the control; default: the first of each factor")
    forbidden: list[Cell] = Field(default=[], description="combinations of levels that must not be run")


class ConfirmTable(_Strict):
    """Fresh runs of the recommended setting and the control."""

    quantile: str | None = Field(default=None, description="quantile to minimize; default: the highest")
    runs: int = Field(default=20, ge=4, le=1000, description="runs of each side at each load, 6 at least")
    load: str | None = Field(default=None, description="load at which to minimize it; default: all loads")
    skip: bool = False


class StudyFile(_Strict):
    """A complete study file."""

    name: str = Field(min_length=1, max_length=80)
    target: str = Field(description="a preset, or a target file that starts the server")
    quantiles: Text = "50,95,99"
    delta: Text = Field(
        default="5%",
        description="the smallest effect that matters: a share; with scale = us also a time: 20us",
    )
    scale: Literal["ratio", "us"] = Field(
        default="ratio",
        description="effects as ratios (on logarithms), or in microseconds that add up (Treadmill)",
    )
    seed: int = Field(default=1, ge=0, lt=2**62)
    measure: dict[str, Any] = Field(default={}, description="options of hindmost measure")
    load: list[LoadLevel] = Field(min_length=1, max_length=12)
    factor: list[FactorTable] = Field(min_length=1, max_length=40)
    design: DesignTable = DesignTable()
    confirm: ConfirmTable = ConfirmTable()

    @model_validator(mode="after")
    def _agree(self) -> Self:
        for kind, names in (
            ("loads", [load.name for load in self.load]),
            ("factors", [factor.name for factor in self.factor]),
        ):
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ArgumentError("duplicate-name", f"two {kind} are called {twice[0]!r}", name=twice[0])
        for key, cell in (
            ("design.control", self.design.control),
            *((f"design.forbidden[{i}]", cell) for i, cell in enumerate(self.design.forbidden)),
        ):
            self._check_cell(key, cell)
        if self.confirm.load is not None and self.confirm.load not in [load.name for load in self.load]:
            raise ArgumentError(
                "unknown-name",
                f"confirm.load = {self.confirm.load!r} is not one of the loads",
                key="confirm.load",
                name=self.confirm.load,
                known=[load.name for load in self.load],
            )
        if unknown := sorted(set(self.measure) - set(FOR_MEASURE)):
            raise ArgumentError(
                "unknown-key",
                f"measure.{unknown[0]} is not an option here (known: {', '.join(FOR_MEASURE)})",
                key=f"measure.{unknown[0]}",
                known=list(FOR_MEASURE),
            )
        return self

    def _check_cell(self, key: str, cell: Cell) -> None:
        levels = {factor.name: factor.levels for factor in self.factor}
        for name, level in cell.items():
            if name not in levels:
                raise ArgumentError(
                    "unknown-name",
                    f"{key}: there is no factor {name!r} (known: {', '.join(levels)})",
                    key=key,
                    name=name,
                    known=list(levels),
                )
            if level not in levels[name]:
                raise ArgumentError(
                    "unknown-name",
                    f"{key}: {name!r} has no level {level!r} (known: {', '.join(levels[name])})",
                    key=f"{key}.{name}",
                    name=level,
                    known=list(levels[name]),
                )


_MODELS: dict[tuple[str, ...], type[BaseModel]] = {
    (): StudyFile,
    ("load",): LoadLevel,
    ("design",): DesignTable,
    ("confirm",): ConfirmTable,
    ("factor",): FactorTable,
}


_HINT = "see examples/attribution/"


def load_study_file(path: Path) -> StudyFile:
    """Read and check a study file.

    Raises
    ------
    UsageError
        If it cannot be read, is not TOML, or is invalid: names file, key and value.
    """
    hint = _HINT
    try:
        data = read_bytes(path, 2 * LARGEST_BYTES)
        if len(data) > LARGEST_BYTES:
            raise UsageError(
                "bad-file",
                f"study file {path} is larger than {LARGEST_BYTES} bytes",
                hint=hint,
                path=str(path),
                limit=LARGEST_BYTES,
            )
        text = data.decode("utf-8-sig")
        return read_study(parse_toml(text), f"study file {path}", SourceText(text, toml=True, path=str(path)))
    except OSError as error:
        raise UsageError(
            "unreadable-file" if path.exists() else "no-such-file",
            f"cannot read study file {path}: {error.strerror}",
            hint=hint,
            path=str(path),
        ) from None
    except UnicodeDecodeError as error:
        raise UsageError(
            "bad-file", f"study file {path} is not UTF-8 text (byte {error.start})", hint=hint, path=str(path)
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(
            "bad-file", f"study file {path} is not TOML: {error}", hint=hint, path=str(path)
        ) from None


def read_study(document: object, where: str, source: SourceText | None = None) -> StudyFile:
    """Check a parsed study file; `where` names it in messages, `source` gives their lines.

    Raises
    ------
    UsageError
        If it is invalid: names key and value.
    """
    try:
        return StudyFile.model_validate(document)
    except ValidationError as error:
        raise to_usage_error(error, _MODELS, where, source, hint=_HINT) from None


def json_schema_text() -> str:
    """Return the JSON Schema of study files."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_NAME,
        **StudyFile.model_json_schema(),
    }
    return json.dumps(schema, indent=2) + "\n"
