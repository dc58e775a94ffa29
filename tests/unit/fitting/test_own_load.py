"""The log's latency is compared with the clone's at the log's load, within the limits of chance."""

from dataclasses import replace

import pytest
from pausing import queue_with_pauses

from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.fit import fit_clone
from hindmost.commands.clone.fit.account import account
from hindmost.commands.clone.fit.own_load import own_load
from hindmost.commands.clone.view.fit import view
from hindmost.present.page import render_page
from hindmost.present.terminal import render_terminal


@pytest.mark.parametrize("whom", ["request", "clock"])
def test_the_clone_has_the_latency_of_the_log_at_the_same_load(whom):
    (own,) = fit_clone(queue_with_pauses(whom, 1, n=20_000)).own
    assert own.requests == 20_000
    assert [row.name for row in own.rows] == ["mean", "p50", "p95", "p99", "p99.9"]
    for row in own.rows:
        assert not row.differs, row
        assert row.log_us.low <= row.log_us.value <= row.log_us.high


def test_a_clone_that_misplaces_pauses_is_reported_as_different():
    """An earlier fit did this: p99 was 10 ms in the log and far higher in the clone."""
    log = queue_with_pauses("request", 1, load=0.3)
    fit = fit_clone(log)
    (wait,) = fit.clone.document["disturbances"]
    per_second = wait["when"]["probability"] / 100e-6
    clock = {**wait, "scope": "thread", "when": {"kind": "poisson", "per_second": per_second}}
    wrong = Clone.from_document({**fit.clone.document, "disturbances": [clock]})
    rows = {row.name: row for row in own_load(wrong, log, 0.0).rows}
    assert rows["mean"].differs
    assert rows["mean"].off > 0.3
    result = account(replace(fit, own=(own_load(wrong, log, 0.0),)))
    differing = len([row for row in result.own[0].rows if row.differs])
    assert render_page(view(result)).count("! differs") == differing > 0
    assert render_terminal(view(result)).count("! differs") == differing
    assert "! differs" not in render_page(view(account(fit)))


def test_a_log_without_arrival_times_is_noted():
    log = queue_with_pauses("request", 1)
    (without_arrivals,) = fit_clone(replace(log, arrival_us=None)).own
    assert without_arrivals.why.code == "no-arrival-times"
    (unstamped,) = fit_clone(replace(log, arrival_us=log.start_us)).own
    assert unstamped.why.code == "unstamped-arrivals"
