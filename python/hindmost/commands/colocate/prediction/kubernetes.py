"""Co-location in Kubernetes: a scheduler extender that reads profiles.

========================  ===========================================================================
``hindmost/job``          on a pod: the name of the job's profile
``hindmost/servers``      on a node: names of the profiles of servers there, joined by ``.`` (a label may
                          hold no commas) or, in an annotation, by ``,``
``hindmost/load``         on a node: how busy these servers are, as ``0.5`` or ``50%``
``hindmost/within``       on a node: how much their percentile may grow
========================  ===========================================================================
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hindmost.commands.colocate.documents.pairs import Answer
from hindmost.commands.colocate.documents.profiles import Profile
from hindmost.commands.colocate.documents.stored import load_card
from hindmost.commands.colocate.prediction.bound import judge_pair
from hindmost.commands.colocate.prediction.tail import MOST_LOAD, allowed_loss
from hindmost.core.kubernetes import Node, Pod, WatchedFile
from hindmost.core.kubernetes.extender import MOST_SCORE, bad_share, share_of
from hindmost.core.notes import Note
from hindmost.core.store.estimates import number
from hindmost.errors import UsageError

Cards = Mapping[str, Profile]


def read_cards(folder: Path) -> Cards:
    """Read all profiles of a folder (``*.json``), by name.

    Raises
    ------
    UsageError
        The folder has no profile, one cannot be read, or two have the same name.
    """
    cards: dict[str, Profile] = {}
    for path in sorted(folder.glob("*.json")):
        card = load_card(path)
        if card.name in cards:
            raise UsageError(
                "duplicate-name",
                f"{path}: another profile in this folder is also named {card.name!r}",
                hint="hindmost colocate profile --name NAME --out FILE",
                path=str(path),
                name=card.name,
            )
        cards[card.name] = card
    if not cards:
        raise UsageError(
            "no-such-file",
            f"{folder} contains no profile (*.json)",
            hint="hindmost colocate profile --out FILE.json",
            path=str(folder),
        )
    return cards


@dataclass
class CardJudge:
    """Decides on which nodes a job may run, by its profile and those of the servers there.

    A node is refused if one of its servers would certainly lose more than allowed. The score falls with the
    largest possible loss of the worst server. Pods and nodes without profiles are ignored.

    Attributes
    ----------
    within, load : float
        Defaults for nodes without labels: tolerable growth of the percentile, and load of the servers.
    strict : bool
        Also refuse nodes for which the profiles cannot decide.
    """

    cards: WatchedFile[Cards]
    within: float = 0.10
    load: float = 0.5
    strict: bool = False

    def find_refusals(self, pod: Pod, nodes: Sequence[Node]) -> dict[str, Note]:
        """Refuse nodes on which the pod's job would slow a server too much."""
        refusals = {}
        for node in nodes:
            answers = self._answers(pod, node)
            if isinstance(answers, Note):
                refusals[node.name] = answers
                continue
            for answer in answers:
                if answer.answer == "no" or (self.strict and answer.answer == "unknown"):
                    refusals[node.name] = _refusal(answer)
                    break
        return refusals

    def scores(self, pod: Pod, nodes: Sequence[Node]) -> dict[str, int]:
        """Score nodes whose servers tolerate the job: from 1 to the highest, by the remaining tolerance."""
        scores = {}
        for node in nodes:
            answers = self._answers(pod, node)
            if answers and not isinstance(answers, Note) and all(one.answer == "yes" for one in answers):
                left = min(1 - one.worst / one.allowed for one in answers)
                scores[node.name] = max(1, round(MOST_SCORE * left))
        return scores

    def gauges(self) -> dict[str, float]:
        """Return the figures on profiles for ``/metrics``."""
        return {"cards": len(self.cards.now()), "files_unreadable_total": self.cards.unreadable}

    def _answers(self, pod: Pod, node: Node) -> list[Answer] | Note:
        """Judge the job next to each of the node's servers; return a note if a share is unreadable."""
        cards = self.cards.now()
        job = cards.get(pod.metadata("hindmost/job") or "")
        if job is None:
            return []
        shares = {"hindmost/within": self.within, "hindmost/load": self.load}
        for key in shares:
            if (text := _label(node, key)) is not None:
                share = share_of(text)
                if share is None:
                    return bad_share(node, key, text)
                shares[key] = share
        within, load = shares["hindmost/within"], min(MOST_LOAD, shares["hindmost/load"])
        names = [name for name in re.split(r"[.,\s]+", _label(node, "hindmost/servers") or "") if name]
        answers = []
        for name in names:
            if name not in cards:
                answers.append(_unknown(job, name, within, load))
                continue
            try:
                answers.append(judge_pair(job, cards[name], within=within, load=load))
            except UsageError:  # the profiles come from different processors
                answers.append(_unknown(job, name, within, load))
        return answers


def _label(node: Node, key: str) -> str | None:
    return node.annotations.get(key, node.labels.get(key))


def _unknown(job: Profile, server: str, within: float, load: float) -> Answer:
    return Answer(
        job=job.name,
        server=server,
        answer="unknown",
        by="bound",
        allowed=allowed_loss(within, load),
        expected=None,
        worst=math.nan,
        measure="rate",
        stressor=None,
        within=within,
        load=load,
        violations=None,
        least_rate=None,
        notes=[],
    )


def _refusal(answer: Answer) -> Note:
    worst = number(answer.worst)
    loses = "more" if answer.answer == "no" else "an unknown share" if worst is None else f"up to {worst:.1%}"
    return Note(
        "server-would-lose" if answer.answer == "no" else "loss-unknown",
        f"hindmost: {answer.server} may lose {answer.allowed:.1%} of its rate at load {answer.load:.0%}, and"
        f" loses {loses} next to {answer.job}",
        {name: getattr(answer, name) for name in ("server", "job", "load", "allowed")} | {"worst": worst},
    )
