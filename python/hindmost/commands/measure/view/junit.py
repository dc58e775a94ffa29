"""The limits of a measurement as JUnit XML, which CI systems show as tests.

A crossed limit is a failure. An undecided limit is an error, because the test has no result. The schema is
that of Jenkins and GitLab, which has only names, times and texts.
"""

from collections.abc import Mapping
from typing import Any, cast
from xml.etree import ElementTree as Xml

from hindmost.commands.measure.view import wording
from hindmost.core.escapes import plain
from hindmost.core.store.measure import Limit, Measure


def render_junit(result: Mapping[str, Any]) -> str:
    """Render one test case per limit.

    Parameters
    ----------
    result
        Document ``hindmost.measure/2``. Characters that XML cannot contain are removed.
    """
    doc = cast(Measure, result)
    limits = doc.get("limits", [])
    counts = {
        "tests": len(limits),
        "failures": sum(one["result"] == "crossed" for one in limits),
        "errors": sum(one["result"] == "undecided" for one in limits),
    }
    numbers = {name: str(count) for name, count in counts.items()}
    suites = Xml.Element("testsuites", numbers)
    suite = Xml.SubElement(
        suites,
        "testsuite",
        {
            "name": _text(f"hindmost {wording.target_line(doc)}"),
            **numbers,
            "time": f"{doc['seconds_total']:.3f}",
            "timestamp": doc["created"].removesuffix("Z"),
        },
    )
    for one in limits:
        _case(suite, doc, one)
    Xml.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(suites, encoding="unicode") + "\n"


def _case(suite: Xml.Element, doc: Measure, one: Limit) -> None:
    case = Xml.SubElement(
        suite,
        "testcase",
        {"classname": _text(f"hindmost.{doc['target']['name']}"), "name": _text(one["limit"]), "time": "0"},
    )
    ends = "\n".join(text for text in (one["text"], f"hint: {one['hint']}" if one["hint"] else "") if text)
    if one["result"] == "held":
        Xml.SubElement(case, "system-out").text = _text(ends)
        return
    kind = "failure" if one["result"] == "crossed" else "error"
    found = Xml.SubElement(case, kind, {"message": _text(one["text"]), "type": one["result"]})
    found.text = _text(ends)


def _text(text: str) -> str:
    """Replace the characters that XML 1.0 forbids."""
    return plain(text).replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")
