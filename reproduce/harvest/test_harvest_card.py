"""The card of chapter IV."""

import time

import pytest

from reproduce.harvest import sweeps
from reproduce.harvest.card import card, render_card
from reproduce.harvest.figures.ablation import waves
from reproduce.harvest.figures.availability import failed_accesses


def check_card(found, rows):
    text = render_card(found)
    assert all(f"| {row} |" in text for row in rows)
    points = [point for one in found["curves"] for line in one["series"] for point in line["points"]]
    assert all(point["low"] <= point["mean"] * (1 + 1e-12) for point in points)
    assert any(point["low"] < point["high"] for point in points)


def test_each_figure_has_a_row_and_curves_with_a_spread(monkeypatch):
    monkeypatch.setattr("reproduce.harvest.card.FIGURES", (failed_accesses, waves))
    monkeypatch.setattr("reproduce.harvest.figures.availability.UTILISATIONS", (0.3, 0.4, 0.5, 0.66))
    found = card(seeds=2, servers=100)
    check_card(found, ("4.2, 4.3", "4.4 to 4.6", "4.16", "ablation: wave width, hours"))
    assert all(one["verdict"] in render_card(found) for one in found["entries"])


def test_ctrl_c_cancels_waiting_simulations(monkeypatch):
    made = []

    class Pool(sweeps.ThreadPoolExecutor):
        def submit(self, *of):
            if self._work_queue.qsize() == 40:
                raise KeyboardInterrupt
            return super().submit(*of)

    def simulated(*of, **settings):
        made.append(of)
        time.sleep(0.05)
        return {"result": {}}

    monkeypatch.setattr(sweeps, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(sweeps, "simulate", simulated)
    with pytest.raises(KeyboardInterrupt):
        sweeps.Sweep(100, 20).run([sweeps.Query("durability", 9, {})])
    assert len(made) < 30


@pytest.mark.nightly
def test_the_whole_card_has_each_figure_of_the_chapter():
    rows = ("4.13", "4.14", "4.15", "4.16", "cost-aware grid", "ablation: copies an hour and server")
    check_card(card(seeds=2, servers=100), rows)
