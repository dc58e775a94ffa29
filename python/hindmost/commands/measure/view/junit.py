"""The limits of a measurement as JUnit XML, which CI systems show as tests.

A crossed limit is a failure. An undecided limit is an error, because the test has no result. The schema is
that of Jenkins and GitLab, which has only names, times and texts.
"""

from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from hindmost.commands.measure.view import wording
from hindmost.core.escapes import plain
from hindmost.core.store.measure import Limit
from hindmost.core.store.types import Target


def render_junit(limits: Sequence[Limit], target: Target, created: str, seconds: float) -> str:
    """Render one test case per limit. Characters that XML cannot contain are removed."""
    counts = {
        "tests": len(limits),
        "failures": sum(one.result == "crossed" for one in limits),
        "errors": sum(one.result == "undecided" for one in limits),
    }
    numbers = {name: str(count) for name, count in counts.items()}
    suites = Xml.Element("testsuites", numbers)
    suite = Xml.SubElement(
        suites,
        "testsuite",
        {
            "name": _text(f"hindmost {wording.target_line(target)}"),
            **numbers,
            "time": f"{seconds:.3f}",
            "timestamp": created.removesuffix("Z"),
        },
    )
    for one in limits:
        _case(suite, target.name, one)
    Xml.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(suites, encoding="unicode") + "\n"


def _case(suite: Xml.Element, name: str, one: Limit) -> None:
    case = Xml.SubElement(
        suite,
        "testcase",
        {"classname": _text(f"hindmost.{name}"), "name": _text(one.limit), "time": "0"},
    )
    ends = "\n".join(text for text in (one.text, f"hint: {one.hint}" if one.hint else "") if text)
    if one.result == "held":
        Xml.SubElement(case, "system-out").text = _text(ends)
        return
    kind = "failure" if one.result == "crossed" else "error"
    found = Xml.SubElement(case, kind, {"message": _text(one.text), "type": one.result})
    found.text = _text(ends)


def _text(text: str) -> str:
    """Replace the characters that XML 1.0 forbids."""
    return plain(text).replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")
