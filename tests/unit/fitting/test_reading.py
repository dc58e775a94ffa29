"""Logs are read as they are, and what no server can have done is refused with line and value."""

import numpy as np
import polars
import pytest

from hindmost.errors import HindmostError, UsageError
from hindmost.models.fit import read_log

from .planted import back_to_back, server_log, times_of

N = 2_500


@pytest.fixture
def times():
    return times_of("xapian", N)


def refusal(path, **asked):
    with pytest.raises(UsageError) as caught:
        read_log(path, **asked)
    return caught.value.message


def test_a_servers_log_is_read_whole(tmp_path, times):
    kinds = ["get" if place % 3 else "set" for place in range(N)]
    log = read_log(back_to_back(tmp_path / "one.csv", times, cpu_ns=np.round(times * 990), kind=kinds))
    assert log.n == N
    assert log.wall_us == pytest.approx(times, abs=1e-3)
    assert log.cpu_us == pytest.approx(times * 0.99, abs=1e-3)
    assert log.kinds == ("get", "set")
    assert np.bincount(log.kind).tolist() == [N - len(range(0, N, 3)), len(range(0, N, 3))]
    assert log.utilisation == pytest.approx(1.0, abs=1e-3)
    assert len(log.sha256) == 64


@pytest.mark.parametrize(("unit", "factor"), [("ns", 1e3), ("us", 1.0), ("ms", 1e-3), ("s", 1e-6)])
def test_a_column_says_its_unit(tmp_path, times, unit, factor):
    path = tmp_path / "t.csv"
    rows = [f"{i},{t * factor!r}" for i, t in enumerate(times.tolist())]
    path.write_text("\n".join([f"id,service_{unit}", *rows]))
    assert read_log(path, column=f"service_{unit}").wall_us == pytest.approx(times)


@pytest.mark.parametrize("compression", ["uncompressed", "snappy"])
@pytest.mark.parametrize("sort", [polars.Float64, polars.Float32, polars.Int64])
def test_parquet_is_read_alike(tmp_path, times, sort, compression):
    path = tmp_path / "t.parquet"
    polars.DataFrame({"x": range(N), "service_ns": times * 1e3}).cast({"service_ns": sort}).write_parquet(
        path, compression=compression
    )
    assert read_log(path, column="service_ns").wall_us == pytest.approx(times, rel=1e-4)


def test_a_servers_log_in_parquet_is_read_with_its_kinds(tmp_path, times):
    path = tmp_path / "t.parquet"
    start = np.cumsum(np.round(times * 1e3).astype(np.int64) + 50)
    frame = {
        "start_ns": start,
        "end_ns": start + np.round(times * 1e3).astype(np.int64),
        "kind": ["a", "b"] * (N // 2),
    }
    polars.DataFrame(frame).write_parquet(path, compression="snappy")
    log = read_log(path)
    assert log.kinds == ("a", "b")
    assert log.wall_us == pytest.approx(times, abs=1e-3)


def test_another_compression_is_told_with_a_way_out(tmp_path, times):
    path = tmp_path / "t.parquet"
    polars.DataFrame({"service_us": times}).write_parquet(path, compression="zstd")
    with pytest.raises(UsageError) as caught:
        read_log(path)
    assert "snappy" in caught.value.hint


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("0", "is 0: the clock was too coarse"),
        ("-3.5", "is -3.5, which is no time"),
        ("nan", "is nan"),
        ("inf", "is inf"),
    ],
)
def test_an_impossible_time_is_refused_with_its_line(tmp_path, times, value, said):
    rows = [f"{t:.3f}" for t in times]
    rows[41] = rows[99] = value
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["service_us", *rows]))
    text = refusal(path)
    assert "t.csv, line 43: service_us" in text
    assert said in text
    assert "1 other like it" in text


def test_a_word_among_numbers_is_refused_with_its_line(tmp_path, times):
    rows = [f"{t:.3f}" for t in times]
    rows[10] = "fast"
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["service_us", *rows]))
    assert "line 12: service_us is `fast`, which is no number" in refusal(path)


def test_a_line_that_was_cut_off_is_refused_with_its_number(tmp_path, times):
    path = back_to_back(tmp_path / "one.csv", times)
    text = path.read_text().rstrip("\n")
    path.write_text(text[: text.rindex(",", 0, text.rindex(",0,"))])
    assert f"line {N + 1}" in refusal(path)


def test_too_few_requests_say_how_many_would_do(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("service_us\n" + "12.5\n13.5\n" * 50)
    text = refusal(path)
    assert "100 requests" in text
    assert "at least 2,000" in text


def test_times_that_are_all_alike_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("service_us\n" + "12.5\n" * N)
    assert "all 2,500 times of service_us" in refusal(path)


def test_absent_columns_are_told_with_those_that_are_there(tmp_path, times):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["id,service_us", *(f"{i},{t}" for i, t in enumerate(times))]))
    assert "has no column servce_us (did you mean service_us?); there are: id, service_us" in refusal(
        path, column="servce_us"
    )
    assert "which column holds the service times was not said; there are: id, service_us" in refusal(path)
    assert "the unit of column id is not known" in refusal(path, column="id")


def test_what_is_no_log_is_refused(tmp_path):
    assert "there is no log" in refusal(tmp_path / "absent.csv")
    (tmp_path / "empty.csv").write_text("")
    assert "is empty" in refusal(tmp_path / "empty.csv")
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)) * 8)
    assert "neither text nor Parquet" in refusal(tmp_path / "noise.bin")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1" + b"x" * 100)
    assert "cut.parquet" in refusal(tmp_path / "cut.parquet")


def test_an_end_before_its_start_is_refused(tmp_path, times):
    path = back_to_back(tmp_path / "one.csv", times)
    lines = path.read_text().splitlines()
    cells = lines[7].split(",")
    lines[7] = ",".join([*cells[:2], str(int(cells[1]) - 5), *cells[3:]])
    path.write_text("\n".join(lines))
    assert "line 8: end_ns is" in refusal(path)
    assert "not after start_ns" in refusal(path)


def test_a_thread_that_serves_two_at_once_is_refused(tmp_path, times):
    wall = np.round(times * 1e3).astype(np.int64)
    start = np.cumsum(wall) // 2
    assert "while the same thread serves" in refusal(server_log(tmp_path / "one.csv", start, wall))


def test_cpu_times_in_another_unit_are_refused(tmp_path, times):
    assert "in another unit" in refusal(back_to_back(tmp_path / "one.csv", times, cpu_ns=np.round(times)))
    double = back_to_back(tmp_path / "two.csv", times, cpu_ns=np.round(times * 2e3))
    assert "above end_ns - start_ns" in refusal(double)


def test_a_unit_that_cannot_be_meant_is_refused(tmp_path, times):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["service_s", *(f"{t}" for t in times)]))
    assert "the unit cannot be meant" in refusal(path)


def test_refusals_are_usage_errors_with_exit_code_2(tmp_path):
    with pytest.raises(HindmostError) as caught:
        read_log(tmp_path / "absent.csv")
    assert caught.value.exit_code == 2
