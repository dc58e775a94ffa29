"""Each limit against its figure: what the interval says, and whether what bent the figure leaves it so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hindmost.errors import UsageError
from hindmost.exits import Exit
from hindmost.notes import Note
from hindmost.plan import Term
from hindmost.plan.limits import check_limits, parse_limits
from hindmost.run.readings import plan_of
from hindmost.stats.runs.limit import Judgement, judged, stands
from hindmost.store import Study, name_of
from hindmost.store import measure as documents
from hindmost.store.estimates import number
from hindmost.store.types import Blame
from hindmost.studies.measure.limits.doubts import Doubt, doubts
from hindmost.studies.measure.limits.figures import Figure, figure, unanswered
from hindmost.studies.measure.limits.requests import Requests, narrow

NAMED = 5
"""So many runs on the other side are named."""


def required(study: Study, texts: Sequence[str]) -> None:
    """Have a stored study answered with these limits instead of those it was made with; nothing is written.

    Raises
    ------
    UsageError
        If it is no measurement, or cannot tell of them.
    """
    if (kind := name_of(study.manifest)) != "measure":
        raise UsageError(
            "wrong-study-kind",
            f"{study.folder} is a study of kind {kind}: --require, --junit and --markdown are for"
            " measurements",
            hint=f"hindmost study report {study.folder}",
            path=str(study.folder),
            kind=kind,
            need=["measure"],
        )
    check_limits(plan_of(study), parse_limits(texts), stored=True)
    study.manifest = study.manifest | {"require": list(texts)}


def held_against(
    document: documents.Measure, texts: Sequence[str], again: str, requests: Requests | None = None
) -> list[documents.Limit]:
    """Hold a measurement against limits.

    Parameters
    ----------
    document : Measure
        Without them.
    texts : sequence of str
        As they were asked for.
    again : str
        The command that goes on with the study.
    requests : Requests, optional
        The figures of single requests, which some limits are about.
    """
    return [_limit(document, term, again, requests or {}) for term in parse_limits(texts)]


def exit_of(limits: Sequence[documents.Limit]) -> Exit:
    """What limits say to scripts; an instrument is to blame only where it leaves one of them undecided."""
    if any(one["result"] == "crossed" for one in limits):
        return Exit.CROSSED
    blamed = [one["blame"] for one in limits if one["result"] == "undecided"]
    if "instrument" in blamed:
        return Exit.INVALID
    return Exit.INCONCLUSIVE if blamed else Exit.DONE


def _limit(document: documents.Measure, term: Term, again: str, requests: Requests) -> documents.Limit:
    if term.request is not None:
        narrowed = narrow(document, term.request, requests)
        if narrowed is None:
            return _without_requests(term, requests)
        document = narrowed
    limit = _by_figure(document, term, again)
    if limit["result"] != "undecided" or (beyond := _beyond_anyway(document, term)) is None:
        return limit
    told = "" if limit["value"] is None else limit["text"].partition("; ")[0] + "; "
    found: documents.Limit = {
        **limit,
        "result": "crossed",
        "blame": None,
        "code": beyond.code,
        "values": dict(beyond.values),
        "text": f"{told}{beyond}",
        "hint": None,
    }
    return found


def _without_requests(term: Term, requests: Requests) -> documents.Limit:
    known = sorted({name for run in requests.values() for name in run})
    why = Note("unmeasured-request", f"no run has a request {term.request!r}", {"known": known})
    hint = f"it has {', '.join(known[:NAMED])}{', ...' if len(known) > NAMED else ''}"
    return _document(term, None, "undecided", "sample", why.text, hint, why)


def _by_figure(document: documents.Measure, term: Term, again: str) -> documents.Limit:
    """What the limit's own figure says."""
    found = figure(document, term)
    if found is None:
        why, need = _no_calm(document)
        return _document(term, None, "undecided", "host", why.text, f"needed: {need}", why)
    says = judged(found.estimate, term.limit, above=term.above)
    told = _told(term, found)
    if says == "undecided":
        why, hint = _open(found, again)
        return _document(term, found, says, "sample", f"{told}; {why}", hint, why)
    if term.name == "errors" and says == "held" and (silent := _silent(document, term)) is not None:
        hint = f"--require '{_failed(term)}<1%' counts errors and requests without an answer"
        return _document(term, found, "undecided", "server", f"{told}; {silent}", hint, silent)
    against = [
        doubt
        for doubt in doubts(document, term)
        if not stands(says, doubt.bent, above=term.above) and not _far_beyond(document, term, found, doubt)
    ]
    if not against:
        off = _on_the_other_side(term, found, says)
        limit = _document(term, found, says, None, told + _off_text(term, found, off), None)
        limit["off"] = off
        return limit
    if calm := _calm_says_so(document, term, says, against):
        return _document(term, found, says, None, f"{told}; {calm}", None)
    worst = min(against, key=lambda one: ("instrument", "server", "sample", "host").index(one.blame))
    why = _why(says, worst)
    return _document(term, found, "undecided", worst.blame, f"{told}; {why}", _hint(term, worst), why)


def _beyond_anyway(document: documents.Measure, term: Term) -> Note | None:
    """Why a latency is beyond its limit where its own figure decides nothing.

    So many requests got no answer that the percentile is beyond the client's timeout, whatever the host did;
    or a lower percentile is beyond the limit already.
    """
    if term.level is None:
        return None
    blamed = [doubt for doubt in doubts(document, term) if doubt.blame == "instrument"]
    share, least = unanswered(document)
    if not term.above and least > 1.0 - term.level and not blamed:
        return _no_answer(share, least)
    names = document["runs"][0]["latency_us"]
    for name in sorted((one for one in names if one[0] == "p"), key=lambda one: float(one[1:])):
        other = replace(term, name=name)
        assert other.level is not None
        if other.level == term.level or (other.level > term.level) != term.above:
            continue
        found = figure(document, other)
        if found is None or judged(found.estimate, term.limit, above=term.above) != "crossed":
            continue
        if all(stands("crossed", doubt.bent, above=term.above) for doubt in doubts(document, other)):
            text = f"{_told(other, found)}, and {term.key} is not {'above' if term.above else 'below'} it"
            return Note("beyond-limit", text, {"name": name, "value": number(found.estimate.value)})
    return None


def _silent(document: documents.Measure, term: Term) -> Note | None:
    """Why a limit on errors says nothing: more requests than it allows got no answer at all."""
    share, least = unanswered(document)
    return None if term.above or least <= term.limit else _no_answer(share, least)


def _no_answer(share: float, least: float) -> Note:
    return Note(
        "unanswered", f"{100 * share:.3g} % of the requests got no answer", {"share": share, "low": least}
    )


def _told(term: Term, found: Figure) -> str:
    """The figure and its interval."""
    one = found.estimate
    runs = "one run" if one.n == 1 else f"{one.n} runs"
    over = f"over {runs}" if found.about == "share" else f"{found.about} over {runs}"
    text = f"{term.key} {'are' if term.name in ('errors', 'misses') else 'is'} {term.write(one.value)}"
    if not one.known:
        return f"{text} in one run" if one.n == 1 else f"{text}, {over}"
    return f"{text} [{term.write(one.low)}, {term.write(one.high)}], {over}"


def _open(found: Figure, again: str) -> tuple[Note, str]:
    """Why an interval decides nothing, and what would change that."""
    runs = found.estimate.n
    more = f"{again} --runs {2 * runs}..{max(30, 4 * runs)}" if "measure" in again else again
    if not found.estimate.known:
        few = f"{runs} run{'' if runs == 1 else 's'} give no interval"
        return Note("no-interval", few, {"runs": runs}), f"{again} --runs 10..30"
    return Note("limit-in-interval", "the interval includes the limit", {"runs": runs}), f"more runs: {more}"


def _why(says: Judgement, doubt: Doubt) -> Note:
    reason = doubt.reason
    text = f"it would be {says}, but {reason['text'].partition('; ')[0]}"
    return Note(reason["code"], text, {**reason.get("values", {}), "otherwise": says})


def _hint(term: Term, doubt: Doubt) -> str | None:
    hint = doubt.reason["hint"]
    kept_apart = term.level is not None and not term.calm and term.request is None
    if doubt.blame == "host" and kept_apart and not term.above:
        return f"--require 'isolated {term.text}' excludes interference" + (f"; {hint}" if hint else "")
    if doubt.reason["code"] == "errors":
        return f"--require '{_failed(term)}<1%' limits errors; {hint}"
    return hint


def _failed(term: Term) -> str:
    """The share that counts all failures of the same requests."""
    return replace(term, name="failed", calm=False).key


def _on_the_other_side(term: Term, found: Figure, says: Judgement) -> list[int]:
    """Runs on the wrong side of a limit that is held over all of them."""
    if says != "held" or found.about == "share":
        return []
    return [
        n for n, value in found.by_run.items() if (value <= term.limit if term.above else value >= term.limit)
    ]


def _off_text(term: Term, found: Figure, off: Sequence[int]) -> str:
    if not off:
        return ""
    which = ", ".join(map(str, off[:NAMED])) + (", ..." if len(off) > NAMED else "")
    side = "below" if term.above else "above"
    return f"; {len(off)} of {len(found.by_run)} runs are {side} the limit ({which})"


def _no_calm(document: documents.Measure) -> tuple[Note, str]:
    """Why there is no isolated latency, and what it would need."""
    calm = document.get("calm")
    if not calm:
        text = "no isolated latency: this study did not look for interference"
        return Note("no-isolated-latency", text), "a new study, without --resume"
    if refused := calm["refused"]:
        return Note(refused["code"], f"no isolated latency: {refused['text']}"), refused["need"]
    text = "no run has isolated latency at this percentile"
    return Note("no-isolated-latency", text), "longer runs: --duration 30s"


def _calm_says_so(
    document: documents.Measure, term: Term, says: Judgement, against: Sequence[Doubt]
) -> str | None:
    """Isolated latency on the same side, in words: then doubts about the host do not matter."""
    if term.calm or term.level is None or not all(doubt.of_host for doubt in against):
        return None
    calm = replace(term, calm=True)
    found = figure(document, calm)
    if found is None or judged(found.estimate, term.limit, above=term.above) != says:
        return None
    if not all(stands(says, doubt.bent, above=term.above) for doubt in doubts(document, calm)):
        return None
    return f"{_told(calm, found)}, so interference is not the cause"


def _far_beyond(document: documents.Measure, term: Term, found: Figure, doubt: Doubt) -> bool:
    """Throughput so far from the limit that the time the host took cannot account for it.

    A server that had the share t of its time taken would with all of it have answered at most 1 / (1 - t)
    times as much.
    """
    calm = document.get("calm")
    taken = calm["taken_share"] if calm else None
    if term.unit != "per_s" or not doubt.of_host or taken is None or not taken < 1.0:
        return False
    scaled = replace(found.estimate, high=found.estimate.high / (1.0 - taken))
    return judged(scaled, term.limit, above=term.above) == judged(
        found.estimate, term.limit, above=term.above
    )


def _document(
    term: Term,
    found: Figure | None,
    result: Judgement,
    blame: Blame | None,
    text: str,
    hint: str | None,
    why: Note | None = None,
) -> documents.Limit:
    one = found.estimate if found else None
    limit: documents.Limit = {
        "limit": term.text,
        "figure": term.key,
        "result": result,
        "above": term.above,
        "bound": term.limit,
        "unit": term.unit,
        "value": number(one.value) if one else None,
        "low": number(one.low) if one else None,
        "high": number(one.high) if one else None,
        "runs": one.n if one else 0,
        "blame": blame,
        "text": text,
        "hint": hint,
    }
    if found:
        limit["about"] = found.about
    if why:
        limit |= {"code": why.code, "values": dict(why.values)}
    return limit
