"""Logs are read exactly, and impossible values are refused with line and value."""

import numpy as np
import pytest
from messages import raises

from hindmost.commands.clone.fit import read_log
from hindmost.errors import UsageError

from .planted import back_to_back, server_log, times_of

N = 2_500


@pytest.fixture(scope="module")
def polars():
    return pytest.importorskip("polars")


@pytest.fixture
def times():
    return times_of("xapian", N)


def assert_refused(log, code, /, *, options=None, **fields):
    with raises(UsageError, code, **fields) as caught:
        read_log(log, **(options or {}))
    assert caught.value.exit_code == 2
    return caught.value


def test_a_server_log_is_read_completely(tmp_path, times):
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
def test_the_name_of_a_column_gives_its_unit(tmp_path, times, unit, factor):
    path = tmp_path / "t.csv"
    rows = [f"{i},{t * factor!r}" for i, t in enumerate(times.tolist())]
    path.write_text("\n".join([f"id,service_{unit}", *rows]))
    assert read_log(path, column=f"service_{unit}").wall_us == pytest.approx(times)


@pytest.mark.parametrize("compression", ["uncompressed", "snappy"])
@pytest.mark.parametrize("dtype", ["Float64", "Float32", "Int64"])
def test_parquet_is_read_like_csv(tmp_path, times, dtype, compression, polars):
    path = tmp_path / "t.parquet"
    polars.DataFrame({"x": range(N), "service_ns": times * 1e3}).cast(
        {"service_ns": getattr(polars, dtype)}
    ).write_parquet(path, compression=compression)
    assert read_log(path, column="service_ns").wall_us == pytest.approx(times, rel=1e-4)


def test_a_server_log_in_parquet_is_read_with_its_kinds(tmp_path, times, polars):
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


def test_parquet_with_unsupported_compression_is_refused(tmp_path, times, polars):
    path = tmp_path / "t.parquet"
    polars.DataFrame({"service_us": times}).write_parquet(path, compression="zstd")
    error = assert_refused(path, "unsupported", path=str(path))
    assert "snappy" in error.fields["known"]


@pytest.mark.parametrize(("text", "value"), [("0", 0.0), ("-3.5", -3.5), ("nan", "nan"), ("inf", "inf")])
def test_an_impossible_time_is_refused_with_its_line(tmp_path, times, text, value):
    rows = [f"{t:.3f}" for t in times]
    rows[41] = rows[99] = text
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["service_us", *rows]))
    place = {"path": str(path), "line": 43, "column": "service_us"}
    assert_refused(path, "impossible-time", **place, value=value, others=1)


def test_a_text_among_numbers_is_refused_with_its_line(tmp_path, times):
    rows = [f"{t:.3f}" for t in times]
    rows[10] = "fast"
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["service_us", *rows]))
    assert_refused(path, "bad-value", line=12, column="service_us", value="fast")


def test_a_line_that_was_cut_off_is_refused_with_its_number(tmp_path, times):
    path = back_to_back(tmp_path / "one.csv", times)
    text = path.read_text().rstrip("\n")
    path.write_text(text[: text.rindex(",", 0, text.rindex(",0,"))])
    assert_refused(path, "bad-file", line=N + 1)


def test_a_log_with_too_few_requests_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("service_us\n" + "12.5\n13.5\n" * 50)
    assert_refused(path, "short-log", have=100, need=2_000)


def test_times_that_are_all_equal_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("service_us\n" + "12.5\n" * N)
    assert_refused(path, "constant-times", column="service_us", value=12.5)


def test_a_missing_column_is_refused_with_the_existing_ones(tmp_path, times):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["id,service_us", *(f"{i},{t}" for i, t in enumerate(times))]))
    columns = {"known": ["id", "service_us"], "option": "--column"}
    wrong = {"column": "servce_us"}
    assert_refused(path, "unknown-name", options=wrong, value="servce_us", nearest="service_us", **columns)
    assert_refused(path, "missing-argument", **columns)
    assert_refused(path, "missing-argument", options={"column": "id"}, option="--unit", column="id")


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("absent.csv", None, "no-such-file"),
        ("empty.csv", b"", "bad-file"),
        ("noise.bin", bytes(range(256)) * 8, "bad-file"),
        ("cut.parquet", b"PAR1" + b"x" * 100, "bad-file"),
    ],
)
def test_a_file_that_is_not_a_log_is_refused(tmp_path, name, content, code):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    assert_refused(path, code, path=str(path))


def test_an_end_before_its_start_is_refused(tmp_path, times):
    path = back_to_back(tmp_path / "one.csv", times)
    lines = path.read_text().splitlines()
    cells = lines[7].split(",")
    lines[7] = ",".join([*cells[:2], str(int(cells[1]) - 5), *cells[3:]])
    path.write_text("\n".join(lines))
    assert_refused(path, "impossible-time", line=8, column="end_ns", value=int(cells[1]) - 5, others=0)


def test_a_thread_that_serves_two_at_once_is_refused(tmp_path, times):
    wall = np.round(times * 1e3).astype(np.int64)
    start = np.cumsum(wall) // 2
    log = server_log(tmp_path / "one.csv", start, wall)
    error = assert_refused(log, "impossible-time", column="start_ns")
    assert error.fields["value"] < error.fields["least"]


def test_cpu_times_in_another_unit_are_refused(tmp_path, times):
    log = back_to_back(tmp_path / "one.csv", times, cpu_ns=np.round(times))
    error = assert_refused(log, "wrong-unit", column="cpu_ns")
    assert error.fields["value"] == pytest.approx(1e-3, rel=0.01)
    double = back_to_back(tmp_path / "two.csv", times, cpu_ns=np.round(times * 2e3))
    assert_refused(double, "impossible-time", line=2, column="cpu_ns", others=N - 1)


def test_an_implausible_unit_is_refused(tmp_path, times):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["service_s", *(f"{t}" for t in times)]))
    assert_refused(path, "wrong-unit", column="service_s")
