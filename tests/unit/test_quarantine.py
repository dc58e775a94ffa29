"""The quarantine of a test ends on its date."""

from __future__ import annotations

import datetime

import pytest
from rows import each_row

from tests.conftest import quarantined

TODAY = datetime.date(2026, 11, 26)


@each_row(("days", "is_quarantined"), [(0, True), (30, True), (-1, False)])
def test_a_test_is_quarantined_until_its_date(days: int, is_quarantined: bool):
    entry = {"test": "a::b", "reason": "slow", "expires": TODAY + datetime.timedelta(days)}
    assert quarantined([entry], TODAY) == ({"a::b": "slow"} if is_quarantined else {})


@pytest.mark.parametrize("entry", [{"reason": "", "days": 1}, {"reason": "slow", "days": 31}])
def test_a_quarantine_without_reason_or_longer_than_30_days_is_refused(entry):
    expires = TODAY + datetime.timedelta(entry["days"])
    with pytest.raises(pytest.UsageError):
        quarantined([{"test": "a::b", "reason": entry["reason"], "expires": expires}], TODAY)
