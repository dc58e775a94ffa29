"""Which crates may use which, who may write to the host, and where `unsafe` may stand."""

import tomllib
from pathlib import Path

CRATES = Path(__file__).parents[2] / "crates"
FLOORS: tuple[set[str], ...] = (
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
"""A crate uses those of floors below its own."""
UNSAFE = (
    *(
        "sys/src/interface.rs",
        "sys/src/signal.rs",
        "sys/src/process.rs",
        "sys/src/socket.rs",
        "sys/src/this_thread.rs",
    ),
    "sys/src/uprobe.rs",
    *("load/src/transport/", "bridge/src/", "load/tests/no_allocation.rs"),
    *("stressors/src/code/", "stressors/src/mapping.rs", "stressors/src/stream.rs"),
)


def uses(crate: str) -> set[str]:
    """Crates of ours that a crate is linked with, those of its tests aside."""
    manifest = tomllib.loads((CRATES / crate / "Cargo.toml").read_text(encoding="utf-8"))
    return {
        name.removeprefix("hindmost-")
        for name in manifest.get("dependencies", {})
        if name.startswith("hindmost-")
    }


def test_crates_use_those_of_floors_below():
    floor = {crate: number for number, crates in enumerate(FLOORS) for crate in crates}
    assert {path.name for path in CRATES.iterdir() if path.is_dir()} == {*floor}
    wrong = [
        f"{crate} uses {other}" for crate in floor for other in uses(crate) if floor[other] >= floor[crate]
    ]
    assert not wrong, "\n".join(wrong)


def test_only_the_bridge_can_reach_the_crate_that_writes_to_the_host():
    everyone = set().union(*FLOORS)
    assert {crate for crate in everyone if "knobs" in uses(crate)} == {"bridge"}
    # The one call of `sys` that changes an interface is refused by lint elsewhere (clippy.toml).
    callers = {
        path.relative_to(CRATES).as_posix()
        for path in CRATES.rglob("*.rs")
        if "ethtool::write" in path.read_text(encoding="utf-8")
    }
    assert callers == {"knobs/src/write.rs"}


def test_unsafe_is_allowed_where_it_lives_and_nowhere_else():
    allowed = {
        path.relative_to(CRATES).as_posix()
        for path in CRATES.rglob("*.rs")
        if "allow(unsafe_code" in path.read_text(encoding="utf-8")
    }
    assert allowed
    assert not [path for path in allowed if not path.startswith(UNSAFE)]
