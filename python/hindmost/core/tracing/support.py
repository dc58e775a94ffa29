"""Whether this host can trace requests, and what it lacks."""

from __future__ import annotations

from pathlib import Path

from hindmost import _engine
from hindmost.core.store.engine import Finding, Mark
from hindmost.errors import HindmostError, HostUnfit

_HINTS = {
    "trace-machine": "trace on an x86-64 host",
    "trace-btf": "use a kernel with CONFIG_DEBUG_INFO_BTF=y (Debian's and Ubuntu's have it)",
    "trace-function": "nm -D --defined-only FILE lists its functions (an unstripped build names all);"
    " readelf -n FILE lists its USDT probes",
    "trace-tracepoint": "use Linux 6.3 or later; from 6.16 on, all stages can be separated",
}
_RIGHTS = "run as root, or with the capabilities CAP_BPF and CAP_PERFMON"
_LOCKED = "boot without lockdown=confidentiality, which forbids probes that read kernel memory"


def tracing_error(code: str, message: str, root: Path = Path("/")) -> HindmostError:
    """Build an error with a hint from the engine's refusal to load its probes; `code` is the engine's."""
    if code == "trace-permission":
        hint = _LOCKED if _read_lockdown(root) == "confidentiality" else _RIGHTS
        return HostUnfit(code, message, hint=hint)
    return HostUnfit(code, message, hint=_HINTS.get(code, "hindmost host doctor"))


def check_tracing(root: Path = Path("/")) -> Finding:
    """Load the probes and return the doctor's finding on it: ``note`` if requests cannot be traced."""
    fault = _engine.trace_fault()
    if fault is None:
        why = "hindmost trace can show in which stage of a request the variance arises"
        return _finding("fine", "the probes load", why, None)
    error = tracing_error(*fault, root)
    why = "hindmost trace cannot follow requests through the kernel; hindmost measure does not need this"
    return _finding("note", error.message, why, error.hint)


def _finding(mark: Mark, value: str, why: str, hint: str | None) -> Finding:
    return Finding(id="stage_tracing", title="Tracing of stages", value=value, mark=mark, why=why, hint=hint)


def _read_lockdown(root: Path) -> str | None:
    """Return the lockdown mode in force, which the file shows in brackets (kernel_lockdown(7))."""
    try:
        text = (root / "sys/kernel/security/lockdown").read_text()
    except OSError:
        return None
    return text.partition("[")[2].partition("]")[0] or None
