"""Judgement of each limit by the interval of its figure, and by the doubts about that figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec import UNSET, structs

from hindmost.commands.measure.limits.doubts import Doubt, find_doubts
from hindmost.commands.measure.limits.figures import Figure, figure_of, unanswered_share
from hindmost.commands.measure.limits.requests import Requests, narrow
from hindmost.core.exits import Exit
from hindmost.core.notes import Note
from hindmost.core.plan import Term
from hindmost.core.plan.limits import check_limits, parse_limits
from hindmost.core.run.messages import EMPTY_HINT
from hindmost.core.run.readings import plan_of
from hindmost.core.run.sessions import LONGER
from hindmost.core.store import Study, name_of
from hindmost.core.store import measure as documents
from hindmost.core.store.estimates import number
from hindmost.core.store.types import Blame
from hindmost.errors import UsageError
from hindmost.stats.runs.limit import Judgement, is_robust, judge

NAMED = 5
"""Most runs on the wrong side of a limit that are named."""


def require_limits(study: Study, texts: Sequence[str]) -> None:
    """Answer a stored study with these limits instead of its own, without changing its files.

    Raises
    ------
    UsageError
        The study is no measurement, or does not contain these figures.
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


def judge_limits(
    document: documents.Measure, texts: Sequence[str], again: str, requests: Requests | None = None
) -> list[documents.Limit]:
    """Judge a measurement by limits.

    Parameters
    ----------
    document : Measure
        A measurement without limits.
    texts : sequence of str
        The limits as the user wrote them.
    again : str
        The command that resumes the study.
    requests : Requests, optional
        Figures of single requests, for limits on them.
    """
    return [_limit(document, term, again, requests or {}) for term in parse_limits(texts)]


def exit_code(limits: Sequence[documents.Limit]) -> Exit:
    """Return the exit code for limits. The instrument is to blame only if it leaves a limit undecided."""
    if any(one.result == "crossed" for one in limits):
        return Exit.CROSSED
    blamed = [one.blame for one in limits if one.result == "undecided"]
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
    if limit.result != "undecided" or (beyond := _find_crossing(document, term)) is None:
        return limit
    prefix = "" if limit.value is None else limit.text.partition("; ")[0] + "; "
    return structs.replace(
        limit,
        result="crossed",
        blame=None,
        code=beyond.code,
        values=dict(beyond.values),
        text=f"{prefix}{beyond}",
        hint=None,
    )


def _without_requests(term: Term, requests: Requests) -> documents.Limit:
    known = sorted({name for run in requests.values() for name in run})
    why = Note("unmeasured-request", f"no run has a request {term.request!r}", {"known": known})
    hint = f"the runs have {', '.join(known[:NAMED])}{', ...' if len(known) > NAMED else ''}"
    return _document(term, None, "undecided", "sample", why.text, hint, why)


def _by_figure(document: documents.Measure, term: Term, again: str) -> documents.Limit:
    """Judge a limit by its own figure."""
    figure = figure_of(document, term)
    if figure is None and term.span:
        why = _no_times(term)
        hint = LONGER if term.time == "session" else EMPTY_HINT
        return _document(term, None, "undecided", "server", why.text, hint, why)
    if figure is None:
        why, need = _no_isolated(document)
        return _document(term, None, "undecided", "host", why.text, f"needed: {need}", why)
    says = judge(figure.estimate, term.limit, above=term.above)
    text = _format_figure(term, figure)
    if says == "undecided":
        why, hint = _explain_undecided(figure, again)
        return _document(term, figure, says, "sample", f"{text}; {why}", hint, why)
    if (
        term.name == "errors"
        and says == "held"
        and (silent := _mostly_unanswered(document, term)) is not None
    ):
        hint = f"--require '{_failure_key(term)}<1%' counts errors and requests without a reply"
        return _document(term, figure, "undecided", "server", f"{text}; {silent}", hint, silent)
    against = [
        doubt
        for doubt in find_doubts(document, term)
        if not is_robust(says, doubt.bent, above=term.above)
        and not _is_far_beyond(document, term, figure, doubt)
    ]
    if not against:
        off = _runs_beyond(term, figure, says)
        limit = _document(term, figure, says, None, text + _off_text(term, figure, off), None)
        return structs.replace(limit, off=off)
    if isolated := _confirmed_by_isolated(document, term, says, against):
        return _document(term, figure, says, None, f"{text}; {isolated}", None)
    worst = min(against, key=lambda one: ("instrument", "server", "sample", "host").index(one.blame))
    why = _explain_doubt(says, worst)
    return _document(term, figure, "undecided", worst.blame, f"{text}; {why}", _hint(term, worst), why)


def _find_crossing(document: documents.Measure, term: Term) -> Note | None:
    """Return why a time exceeds its limit even if its own figure decides nothing.

    Either so many requests had no reply that the percentile of latency exceeds the client's timeout, whatever
    the host did, or a lower percentile already exceeds the limit.
    """
    if term.level is None:
        return None
    blamed = [doubt for doubt in find_doubts(document, term) if doubt.blame == "instrument"]
    share, least = unanswered_share(document)
    if not (term.above or term.span) and least > 1.0 - term.level and not blamed:
        return _no_answer(share, least)
    names = document.runs[0].latency_us
    for name in sorted((one for one in names if one[0] == "p"), key=lambda one: float(one[1:])):
        other = replace(term, name=name)
        assert other.level is not None
        if other.level == term.level or (other.level > term.level) != term.above:
            continue
        figure = figure_of(document, other)
        if figure is None or judge(figure.estimate, term.limit, above=term.above) != "crossed":
            continue
        if all(is_robust("crossed", doubt.bent, above=term.above) for doubt in find_doubts(document, other)):
            figure_text = _format_figure(other, figure)
            text = f"{figure_text}, and {term.key} is not {'above' if term.above else 'below'} it"
            return Note("beyond-limit", text, {"name": name, "value": number(figure.estimate.value)})
    return None


def _mostly_unanswered(document: documents.Measure, term: Term) -> Note | None:
    """Return why a limit on errors decides nothing: more requests than it allows had no reply."""
    share, least = unanswered_share(document)
    return None if term.above or least <= term.limit else _no_answer(share, least)


def _no_answer(share: float, least: float) -> Note:
    return Note(
        "unanswered", f"{100 * share:.3g} % of the requests got no answer", {"share": share, "low": least}
    )


def _format_figure(term: Term, figure: Figure) -> str:
    """Format the figure and its interval."""
    one = figure.estimate
    runs = "one run" if one.n == 1 else f"{one.n} runs"
    over = f"over {runs}" if figure.about == "share" else f"{figure.about} over {runs}"
    text = f"{term.key} {'are' if term.name in ('errors', 'misses') else 'is'} {term.write(one.value)}"
    if not one.known:
        return f"{text} in one run" if one.n == 1 else f"{text}, {over}"
    return f"{text} [{term.write(one.low)}, {term.write(one.high)}], {over}"


def _explain_undecided(figure: Figure, again: str) -> tuple[Note, str]:
    """Return why an interval decides nothing, and what would change that."""
    runs = figure.estimate.n
    more = f"{again} --runs {2 * runs}..{max(30, 4 * runs)}" if "measure" in again else again
    if not figure.estimate.known:
        few = f"{runs} run{'' if runs == 1 else 's'} give no interval"
        return Note("no-interval", few, {"runs": runs}), f"{again} --runs 10..30"
    return Note("limit-in-interval", "the interval includes the limit", {"runs": runs}), f"more runs: {more}"


def _explain_doubt(says: Judgement, doubt: Doubt) -> Note:
    reason = doubt.reason
    text = f"it would be {says}, but {reason.text.partition('; ')[0]}"
    return Note(reason.code, text, {**(reason.values or {}), "otherwise": says})


def _hint(term: Term, doubt: Doubt) -> str | None:
    hint = doubt.reason.hint
    kept_apart = term.level is not None and not (term.isolated or term.span or term.request)
    if doubt.blame == "host" and kept_apart and not term.above:
        return f"--require 'isolated {term.text}' excludes interference" + (f"; {hint}" if hint else "")
    if doubt.reason.code == "errors":
        return f"--require '{_failure_key(term)}<1%' limits errors; {hint}"
    return hint


def _failure_key(term: Term) -> str:
    """Return the share that counts all failures of the same requests."""
    return replace(term, name="failed", isolated=False, span=None).key


def _runs_beyond(term: Term, figure: Figure, says: Judgement) -> list[int]:
    """Return the runs on the wrong side of a limit that is held over all runs."""
    if says != "held" or figure.about == "share":
        return []
    return [
        n
        for n, value in figure.by_run.items()
        if (value <= term.limit if term.above else value >= term.limit)
    ]


def _off_text(term: Term, figure: Figure, off: Sequence[int]) -> str:
    if not off:
        return ""
    which = ", ".join(map(str, off[:NAMED])) + (", ..." if len(off) > NAMED else "")
    side = "below" if term.above else "above"
    return f"; {len(off)} of {len(figure.by_run)} runs are {side} the limit ({which})"


def _no_times(term: Term) -> Note:
    """Return why there are no times of messages or sessions."""
    if term.time == "session":
        return Note("no-sessions", "no session began in the first half of a measurement", {"name": term.key})
    text = "no reply had a message" if term.time == "first_message" else "no reply had two messages"
    return Note("no-messages", text, {"name": term.key})


def _no_isolated(document: documents.Measure) -> tuple[Note, str]:
    """Return why there is no isolated latency, and what it needs."""
    isolated = document.isolated
    if not isolated:
        text = "no isolated latency: this study did not look for interference"
        return Note("no-isolated-latency", text), "a new study, without --resume"
    if refused := isolated.refused:
        return Note(refused.code, f"no isolated latency: {refused.text}"), refused.need
    text = "no run has isolated latency at this percentile"
    return Note("no-isolated-latency", text), "longer runs: --duration 30s"


def _confirmed_by_isolated(
    document: documents.Measure, term: Term, says: Judgement, against: Sequence[Doubt]
) -> str | None:
    """Describe isolated latency on the same side of the limit, which rules out doubts about the host."""
    if term.isolated or term.span or term.level is None or not all(doubt.of_host for doubt in against):
        return None
    isolated = replace(term, isolated=True)
    figure = figure_of(document, isolated)
    if figure is None or judge(figure.estimate, term.limit, above=term.above) != says:
        return None
    if not all(is_robust(says, doubt.bent, above=term.above) for doubt in find_doubts(document, isolated)):
        return None
    return f"{_format_figure(isolated, figure)}, so interference is not the cause"


def _is_far_beyond(document: documents.Measure, term: Term, figure: Figure, doubt: Doubt) -> bool:
    """Whether throughput is so far from the limit that interference cannot explain it.

    A server that lost the share t of its CPU time would without the loss have answered at most 1 / (1 - t)
    times as many requests.
    """
    isolated = document.isolated
    taken = isolated.interference_share if isolated else None
    if term.unit != "per_s" or not doubt.of_host or taken is None or not taken < 1.0:
        return False
    scaled = replace(figure.estimate, high=figure.estimate.high / (1.0 - taken))
    return judge(scaled, term.limit, above=term.above) == judge(figure.estimate, term.limit, above=term.above)


def _document(
    term: Term,
    figure: Figure | None,
    result: Judgement,
    blame: Blame | None,
    text: str,
    hint: str | None,
    why: Note | None = None,
) -> documents.Limit:
    one = figure.estimate if figure else None
    return documents.Limit(
        limit=term.text,
        figure=term.key,
        result=result,
        above=term.above,
        bound=term.limit,
        unit=term.unit,
        value=number(one.value) if one else None,
        low=number(one.low) if one else None,
        high=number(one.high) if one else None,
        about=figure.about if figure else UNSET,
        runs=one.n if one else 0,
        blame=blame,
        code=why.code if why else UNSET,
        values=dict(why.values) if why else UNSET,
        text=text,
        hint=hint,
    )
