"""View of an attribution: the answer in the terminal and on the page, and on the page its evidence."""

from hindmost.commands.attribute.document import Attribution
from hindmost.commands.attribute.view.answer import answer
from hindmost.commands.attribute.view.evidence import evidence
from hindmost.commands.attribute.view.wording import TONES, design_text
from hindmost.present import numbers, writing
from hindmost.present.blocks import Only, View


def view(doc: Attribution) -> View:
    """Return the view of an attribution."""
    meta = (
        doc.name,
        doc.target,
        numbers.plural(len(doc.factors), "factor"),
        design_text(doc),
        writing.moment(doc.created),
        f"study {doc.study}",
    )
    return View(
        title=f"{doc.verdict}: {doc.name}",
        word=doc.verdict,
        tone=TONES[doc.verdict],
        headline=doc.headline,
        meta=meta,
        schema=doc.schema,
        blocks=[*answer(doc), Only("page", list(evidence(doc)))],
    )
