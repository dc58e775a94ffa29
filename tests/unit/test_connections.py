"""What is said of connections that a server closes, and of its status codes."""

import re

import pytest
from evidence import client, evidence, reasons, run
from messages import raises
from rows import each_row

from hindmost.errors import UsageError
from hindmost.plan.codes import parse_codes
from hindmost.report.measure import view
from hindmost.run.connections import codes, connections, describe_errors
from hindmost.run.status import status
from hindmost.run.verdict.server import missing_replies

TARGET = {"target": {"managed": True, "cpus": [0]}}


def counted(count, outcome):
    return {"count": count, "outcome": outcome}


def closing(number=1, **changes):
    """A run whose two instances made a connection for each of 100,000 requests."""
    told = {"connects": {"made": 50_000, "failed": 1, "all": 60_000}, "by_turns": True, "reconnects": 60_000}
    figures = run(number, record=TARGET, clients=[client(0, **told), client(1, **told)], **changes)
    figures.values["connect"] = dict.fromkeys(figures.values["latency"], 80.0)
    return figures


def failing(**shares):
    """A run of 100,000 requests with these codes in each of two instances, all else served."""
    given = {code.removeprefix("code"): counted(count, "error") for code, count in shares.items()}
    errors = 2 * sum(shares.values()) + 4
    told = {
        "codes": {"200": counted(9_000, "hit")} | given,
        "counts": {"lost": 2},
        "first_error": "HTTP/1.1 500",
    }
    return run(1, clients=[client(0, **told), client(1, **told)], record=TARGET, counts={"errors": errors})


def test_connections_add_up_over_clients_and_runs():
    assert connections([closing(1), closing(2)]) == {
        "made": 200_000, "failed": 4, "all": 240_000, "closed": 240_000, "by_turns": True,
        "full_handshakes": 0, "resumed_handshakes": 0,
    }  # fmt: skip
    assert connections([run(1)]) is None, "studies that did not keep the account"


def test_datagrams_that_came_late_are_told_and_of_connections_nothing_is():
    late = {
        "connects": {"made": 0, "failed": 0, "all": 8},
        "datagrams": {"late": 3, "refused": 1, "oversized": 2},
    }
    lossy = run(1, clients=[client(0, **late), client(1, **late)])
    account = connections([lossy])
    assert (account["late"], account["refused"], account["oversized"]) == (6, 2, 4)
    counts = {"scheduled": 4_000, "timeouts": 40}
    told = view.datagrams({"counts": counts, "connections": account})
    assert [n for n in re.findall(r"\d+", told) if n != "16382"] == ["40", "4000", "6", "2", "4"]
    assert view.datagrams({"counts": counts, "connections": connections([closing()])}) == ""


def test_streams_that_a_server_refused_or_left_alone_are_told_apart():
    told = {"connects": {"made": 0, "failed": 0, "all": 8}, "unhandled": {"refused": 3, "left_alone": 40}}
    account = connections([run(1, clients=[client(0, **told), client(1, **told)])])
    assert (account["refused_streams"], account["left_alone"]) == (6, 80)
    said = view.streams({"connections": account})
    assert re.findall(r"(\d+).*?(REFUSED_STREAM|GOAWAY)", said) == [("6", "REFUSED_STREAM"), ("80", "GOAWAY")]
    assert "GOAWAY" not in view.streams({"connections": account | {"left_alone": 0}})
    assert view.streams({"connections": connections([closing()])}) == "", "HTTP/1 has no streams"


def test_codes_add_up_in_their_order():
    assert codes([failing(code503=4, code500=312)]) == {
        "200": counted(18_000, "hit"), "500": counted(624, "error"), "503": counted(8, "error"),
    }  # fmt: skip


def test_a_server_that_closes_after_each_reply_is_told_with_the_time_to_connect_and_is_no_fault():
    found = reasons(runs=[closing(number) for number in range(1, 11)])
    assert "reconnections" not in found
    one = found["connection-per-request"]
    assert one.level == "note"
    assert one.values == {
        "connections": 1_000_000,
        "requests": 1_000_000,
        "connect_us": 80.0,
        "batching_unused": False,
    }
    assert status(closing(), evidence().plan).kind == "counted"
    runs = [closing(number) for number in range(1, 11)]
    batched = reasons(runs=runs, plan={"batching": 2e-4})["connection-per-request"]
    assert batched.values["batching_unused"]
    assert "--batching 200us" in batched.text


def test_errors_have_their_codes_and_a_run_with_too_many_does_not_count():
    one = failing(code503=4, code500=312)
    (found,) = [r for r in missing_replies(evidence(runs=[one])) if r.code == "errors"]
    assert (found.values["codes"], found.values["lost"]) == ({"500": 624, "503": 8}, 4)
    bad = status(failing(code500=1_000), evidence().plan)
    assert (bad.code, bad.values["errors"]) == ("errors", 2_004)


def test_a_servers_words_stand_in_the_first_clause_and_lead_to_a_hint():
    for words, hint in [
        ("-MOVED 3999 127.0.0.1:6381", "Redis Cluster"),
        ('ERROR 26000: prepared statement "s0"; does not exist', "pooler"),
        ("HTTP/1.1 405 Method Not Allowed", "--method"),
        ("-ERR max number of clients reached", "--connections"),
    ]:
        one = run(1, clients=[client(0, first_error=words)], counts={"errors": 5_000}, record=TARGET)
        (found,) = [r for r in missing_replies(evidence(runs=[one])) if r.code == "errors"]
        assert words.replace("; ", ", ") in found.text.partition("; ")[0]
        assert found.values["first_error"] == words
        assert hint in (found.hint or "")


def test_what_answers_no_request_is_counted_and_shown():
    told = {"count": 3, "first": "HTTP/1.0 408 Request Time-out"}
    one = run(1, clients=[client(0, unreadable=told), client(1, unreadable={"count": 0, "first": None})])
    found = reasons(runs=[one])["unreadable-replies"]
    assert (found.level, found.values) == ("note", told)
    assert told["first"] in found.text.partition("; ")[0]
    assert "unreadable-replies" not in reasons(runs=[run(1)])


def test_timeouts_of_pipelined_http_lead_to_one_request_at_a_time():
    def hints(plan, protocol="http", **more):
        one = run(1, clients=[client(0, **more)], counts={"timeouts": 2_000})
        found = evidence(runs=[one], plan=plan, target={"managed": False, "protocol": protocol})
        return next(r.hint for r in missing_replies(found) if r.code == "unanswered")

    assert "--in-flight 1" in hints({})
    assert "--in-flight 1" not in hints({"in_flight": 1})
    assert "--in-flight 1" not in hints({}, "redis")


def test_a_redirection_that_was_wanted_can_be_accepted():
    found = {r.code: r for r in missing_replies(evidence(runs=[failing(code301=500)]))}
    assert "`--accept 2xx,301`" in (found["errors"].hint or "")


def test_pages_that_are_not_there_are_no_keys_that_were_evicted():
    told = {"codes": {"404": counted(40_000, "miss")}}
    one = run(1, clients=[client(0, **told)], counts={"misses": 40_000})
    found = {r.code: r for r in missing_replies(evidence(runs=[one]))}
    assert found["misses"].values["codes"] == ["404"]
    assert "--accept 2xx,404" in found["misses"].hint


def test_errors_are_named_the_most_frequent_first():
    found = {"503": counted(4, "error"), "200": counted(9, "hit"), "500": counted(312, "error")}
    assert describe_errors(found, 0) == "500 x 312, 503 x 4"
    assert describe_errors({}, 3).startswith("3 ")
    assert describe_errors({}, 0) == ""


def document(**given):
    return {"counts": {"scheduled": 100, "errors": 3}, "plan": {}, **given}


def test_codes_stand_by_class():
    found = {"200": counted(90, "hit"), "301": counted(1, "error"), "500": counted(1, "error")}
    found["503"] = counted(4_000, "error")
    assert view.codes(document(codes=found)) == "200 × 90; 301 × 1; 5xx 4001 (500 × 1, 503 × 4000)"
    assert view.codes(document()) == ""


def test_connections_that_were_kept_are_not_spoken_of():
    kept = {"made": 0, "failed": 0, "all": 16, "closed": 0, "by_turns": False}
    assert view.connections(document(connections=kept)) == ""
    some = view.connections(document(connections=kept | {"made": 7}))
    assert re.findall(r"\d+", some) == ["7", "100"]


@pytest.mark.parametrize(
    ("plan", "each"), [({"requests_per_connection": 14}, "14"), ({"workload": {"version": "1.0"}}, "1")]
)
def test_connections_that_were_closed_as_asked_are_told_so(plan, each):
    found = {"made": 7, "failed": 0, "all": 23, "closed": 0, "by_turns": False}
    told = view.connections(document(connections=found, plan=plan))
    assert re.findall(r"\d+", told) == ["7", "100", each]
    assert view.connects_per_request(document(connections=found, plan=plan))
    assert not view.connects_per_request(document(connections=found))


@pytest.mark.parametrize(("text", "read"), [("2xx", ["2xx"]), ("200, 3xx,404", [200, "3xx", 404])])
def test_codes_are_read(text, read):
    assert parse_codes(text) == read


@each_row("text", ["", "2xx,", "1xx", "600", "99", "ok", "2XX", "200-299"])
def test_what_is_no_code_is_refused(text):
    with raises(UsageError, "bad-value", option="--accept"):
        parse_codes(text)
