"""What is reported about connections that a server closes, and about its status codes."""

import re

import pytest
from evidence import client, evidence, reasons, run
from messages import raises
from msgspec.structs import replace
from partial_documents import partial
from rows import each_row

from hindmost.commands.measure.view import wording
from hindmost.core.plan.codes import parse_codes
from hindmost.core.run.connections import codes, connections, describe_errors
from hindmost.core.run.status import status
from hindmost.core.run.verdict.server import missing_replies
from hindmost.core.store.measure import Code, Connections, Measure
from hindmost.errors import UsageError

TARGET = {"target": {"managed": True, "cpus": [0]}}


def code_count(count, outcome):
    return {"count": count, "outcome": outcome}


def code(count, outcome):
    return Code(count=count, outcome=outcome)


def run_with_closed_connections(number=1, **changes):
    """Return a run whose two clients made a connection for each of 100,000 requests."""
    fields = {
        "connects": {"made": 50_000, "failed": 1, "all": 60_000},
        "by_turns": True,
        "reconnects": 60_000,
    }
    figures = run(number, record=TARGET, clients=[client(0, **fields), client(1, **fields)], **changes)
    figures.values["connect"] = dict.fromkeys(figures.values["latency"], 80.0)
    return figures


def run_with_errors(**shares):
    """Return a run of 100,000 requests with these error codes in each of two clients; all others succeed."""
    errors_by_code = {code.removeprefix("code"): code_count(count, "error") for code, count in shares.items()}
    errors = 2 * sum(shares.values()) + 4
    fields = {
        "codes": {"200": code_count(9_000, "hit")} | errors_by_code,
        "counts": {"lost": 2},
        "first_error": "HTTP/1.1 500",
    }
    return run(
        1, clients=[client(0, **fields), client(1, **fields)], record=TARGET, counts={"errors": errors}
    )


def test_connections_add_up_over_clients_and_runs():
    assert connections([run_with_closed_connections(1), run_with_closed_connections(2)]) == Connections(
        made=200_000,
        failed=4,
        all=240_000,
        closed=240_000,
        by_turns=True,
        full_handshakes=0,
        resumed_handshakes=0,
    )
    assert connections([run(1)]) is None, "an early study has no counts of connections"


def test_late_datagrams_are_shown():
    late = {
        "connects": {"made": 0, "failed": 0, "all": 8},
        "datagrams": {"late": 3, "refused": 1, "oversized": 2},
    }
    lossy = run(1, clients=[client(0, **late), client(1, **late)])
    account = connections([lossy])
    assert (account.late, account.refused, account.oversized) == (6, 2, 4)
    counts = {"scheduled": 4_000, "timeouts": 40}
    text = wording.datagrams(partial(Measure, counts=counts, connections=account))
    assert [n for n in re.findall(r"\d+", text) if n != "16382"] == ["40", "4000", "6", "2", "4"]
    assert (
        wording.datagrams(
            partial(Measure, counts=counts, connections=connections([run_with_closed_connections()]))
        )
        == ""
    )


def test_refused_and_unanswered_streams_are_counted_separately():
    fields = {"connects": {"made": 0, "failed": 0, "all": 8}, "unhandled": {"refused": 3, "left_alone": 40}}
    account = connections([run(1, clients=[client(0, **fields), client(1, **fields)])])
    assert (account.refused_streams, account.left_alone) == (6, 80)
    text = wording.streams(partial(Measure, connections=account))
    assert re.findall(r"(\d+).*?(REFUSED_STREAM|GOAWAY)", text) == [("6", "REFUSED_STREAM"), ("80", "GOAWAY")]
    assert "GOAWAY" not in wording.streams(partial(Measure, connections=replace(account, left_alone=0)))
    assert (
        wording.streams(partial(Measure, connections=connections([run_with_closed_connections()]))) == ""
    ), "HTTP/1 has no streams"


def test_codes_add_up_in_numerical_order():
    assert codes([run_with_errors(code503=4, code500=312)]) == {
        "200": code(18_000, "hit"), "500": code(624, "error"), "503": code(8, "error"),
    }  # fmt: skip


def test_a_server_that_closes_after_each_reply_is_noted_with_the_time_to_connect():
    reported = reasons(runs=[run_with_closed_connections(number) for number in range(1, 11)])
    assert "reconnections" not in reported
    reason = reported["connection-per-request"]
    assert reason.level == "note"
    assert reason.values == {
        "connections": 1_000_000,
        "requests": 1_000_000,
        "connect_us": 80.0,
        "batching_unused": False,
    }
    assert status(run_with_closed_connections(), evidence().plan).kind == "counted"
    runs = [run_with_closed_connections(number) for number in range(1, 11)]
    batched = reasons(runs=runs, plan={"batching": 2e-4})["connection-per-request"]
    assert batched.values["batching_unused"]
    assert "--batching 200us" in batched.text


def test_errors_are_reported_by_code_and_a_run_with_too_many_does_not_count():
    figures = run_with_errors(code503=4, code500=312)
    (reported,) = [r for r in missing_replies(evidence(runs=[figures])) if r.code == "errors"]
    assert (reported.values["codes"], reported.values["lost"]) == ({"500": 624, "503": 8}, 4)
    bad = status(run_with_errors(code500=1_000), evidence().plan)
    assert (bad.code, bad.values["errors"]) == ("errors", 2_004)


def test_a_failed_check_is_an_error_with_a_hint_of_its_own():
    failed = {"check failed: size<=1": code_count(5_000, "error")}
    figures = run(1, clients=[client(0, codes=failed)], counts={"errors": 5_000}, record=TARGET)
    (reported,) = [r for r in missing_replies(evidence(runs=[figures])) if r.code == "errors"]
    assert reported.values["codes"] == {"check failed: size<=1": 5_000}
    assert "curl" in (reported.hint or "")


def test_a_servers_error_message_is_quoted_and_gives_a_hint():
    for error, hint in [
        ("-MOVED 3999 127.0.0.1:6381", "Redis Cluster"),
        ('ERROR 26000: prepared statement "s0"; does not exist', "pooler"),
        ("HTTP/1.1 405 Method Not Allowed", "--method"),
        ("-ERR max number of clients reached", "--connections"),
    ]:
        figures = run(1, clients=[client(0, first_error=error)], counts={"errors": 5_000}, record=TARGET)
        (reported,) = [r for r in missing_replies(evidence(runs=[figures])) if r.code == "errors"]
        assert error.replace("; ", ", ") in reported.text.partition("; ")[0]
        assert reported.values["first_error"] == error
        assert hint in (reported.hint or "")


def test_unreadable_replies_are_counted_and_shown():
    fields = {"count": 3, "first": "HTTP/1.0 408 Request Time-out"}
    figures = run(
        1, clients=[client(0, unreadable=fields), client(1, unreadable={"count": 0, "first": None})]
    )
    reported = reasons(runs=[figures])["unreadable-replies"]
    assert (reported.level, reported.values) == ("note", fields)
    assert fields["first"] in reported.text.partition("; ")[0]
    assert "unreadable-replies" not in reasons(runs=[run(1)])


def test_timeouts_of_pipelined_http_hint_at_one_request_in_flight():
    def hints(plan, protocol="http", **more):
        figures = run(1, clients=[client(0, **more)], counts={"timeouts": 2_000})
        reported = evidence(runs=[figures], plan=plan, target={"managed": False, "protocol": protocol})
        return next(r.hint for r in missing_replies(reported) if r.code == "unanswered")

    assert "--in-flight 1" in hints({})
    assert "--in-flight 1" not in hints({"in_flight": 1})
    assert "--in-flight 1" not in hints({"stream": True})
    assert "--in-flight 1" not in hints({}, "redis")


def test_the_hint_for_redirections_is_to_accept_them():
    reported = {r.code: r for r in missing_replies(evidence(runs=[run_with_errors(code301=500)]))}
    assert "`--accept 2xx,301`" in (reported["errors"].hint or "")


def test_missing_pages_are_not_reported_as_evicted_keys():
    fields = {"codes": {"404": code_count(40_000, "miss")}}
    figures = run(1, clients=[client(0, **fields)], counts={"misses": 40_000})
    reported = {r.code: r for r in missing_replies(evidence(runs=[figures]))}
    assert reported["misses"].values["codes"] == ["404"]
    assert "--accept 2xx,404" in reported["misses"].hint


def test_the_most_frequent_error_is_named_first():
    reported = {"503": code(4, "error"), "200": code(9, "hit"), "500": code(312, "error")}
    assert describe_errors(reported, 0) == "500 x 312, 503 x 4"
    assert describe_errors({}, 3).startswith("3 ")
    assert describe_errors({}, 0) == ""


def make_document(**changes):
    return partial(Measure, **{"counts": {"scheduled": 100, "errors": 3}, "plan": {}, **changes})


def test_codes_are_grouped_by_class():
    reported = {"200": code_count(90, "hit"), "301": code_count(1, "error"), "500": code_count(1, "error")}
    reported["503"] = code_count(4_000, "error")
    assert wording.codes(make_document(codes=reported)) == "200 × 90; 301 × 1; 5xx 4001 (500 × 1, 503 × 4000)"
    assert wording.codes(make_document()) == ""


def test_persistent_connections_are_not_shown():
    counts = {"made": 0, "failed": 0, "all": 16, "closed": 0, "by_turns": False}
    assert wording.connections(make_document(connections=counts)) == ""
    text = wording.connections(make_document(connections=counts | {"made": 7}))
    assert re.findall(r"\d+", text) == ["7", "100"]


@pytest.mark.parametrize(
    ("plan", "each"), [({"requests_per_connection": 14}, "14"), ({"workload": {"version": "1.0"}}, "1")]
)
def test_connections_that_were_closed_on_request_are_shown_as_such(plan, each):
    reported = {"made": 7, "failed": 0, "all": 23, "closed": 0, "by_turns": False}
    text = wording.connections(make_document(connections=reported, plan=plan))
    assert re.findall(r"\d+", text) == ["7", "100", each]
    assert wording.connects_per_request(make_document(connections=reported, plan=plan))
    assert not wording.connects_per_request(make_document(connections=reported))


@pytest.mark.parametrize(("text", "read"), [("2xx", ["2xx"]), ("200, 3xx,404", [200, "3xx", 404])])
def test_accepted_codes_are_parsed(text, read):
    assert parse_codes(text) == read


@each_row("text", ["", "2xx,", "1xx", "600", "99", "ok", "2XX", "200-299"])
def test_an_invalid_code_is_refused(text):
    with raises(UsageError, "bad-value", option="--accept"):
        parse_codes(text)
