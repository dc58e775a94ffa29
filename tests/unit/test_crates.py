"""Which crates may depend on which, which may write to the host, and where `unsafe` is allowed."""

import tomllib
from pathlib import Path

CRATES = Path(__file__).parents[2] / "crates"
LEVELS: tuple[set[str], ...] = (
    {"sys", "wire", "random", "histogram"},
    {"table"},
    {"clock"},
    {"arrivals"},
    {"plan", "clone", "quantile", "host", "stressors", "trace", "harvest"},
    {"knobs", "simulate", "capture"},
    {"synth"},
    {"load"},
    {"nerve"},
    {"bridge"},
)
"""A crate may use crates of lower levels only."""
UNSAFE = (
    *(
        "sys/src/interface.rs",
        "sys/src/perf.rs",
        "sys/src/signal.rs",
        "sys/src/process.rs",
        "sys/src/shared.rs",
        "sys/src/socket.rs",
        "sys/src/this_thread.rs",
    ),
    "sys/src/uprobe.rs",
    *("load/src/transport/", "bridge/src/", "load/tests/no_allocation.rs"),
    *("stressors/src/code/", "stressors/src/mapping.rs", "stressors/src/stream.rs"),
)


def dependencies_of(crate: str) -> set[str]:
    """Return the project's crates that a crate depends on, without dependencies of its tests."""
    manifest = tomllib.loads((CRATES / crate / "Cargo.toml").read_text(encoding="utf-8"))
    return {
        name.removeprefix("hindmost-")
        for name in manifest.get("dependencies", {})
        if name.startswith("hindmost-")
    }


def test_crates_depend_on_lower_levels_only():
    level = {crate: number for number, crates in enumerate(LEVELS) for crate in crates}
    assert {path.name for path in CRATES.iterdir() if path.is_dir()} == {*level}
    violations = [
        f"{crate} uses {used}"
        for crate in level
        for used in dependencies_of(crate)
        if level[used] >= level[crate]
    ]
    assert not violations, "\n".join(violations)


def test_only_the_bridge_uses_the_crate_that_writes_to_the_host():
    all_crates = set().union(*LEVELS)
    assert {crate for crate in all_crates if "knobs" in dependencies_of(crate)} == {"bridge"}
    # The one call of `sys` that changes an interface is forbidden elsewhere by a lint (clippy.toml).
    callers = {
        path.relative_to(CRATES).as_posix()
        for path in CRATES.rglob("*.rs")
        if "ethtool::write" in path.read_text(encoding="utf-8")
    }
    assert callers == {"knobs/src/write.rs"}


def test_unsafe_is_allowed_in_listed_files_only():
    allowed = {
        path.relative_to(CRATES).as_posix()
        for path in CRATES.rglob("*.rs")
        if "allow(unsafe_code" in path.read_text(encoding="utf-8")
    }
    assert allowed
    assert not [path for path in allowed if not path.startswith(UNSAFE)]
