"""Co-location in Kubernetes: a scheduler extender that reads profiles and supervised windows next to them.

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
from functools import lru_cache
from pathlib import Path

from hindmost.commands.colocate.documents.pairs import Answer
from hindmost.commands.colocate.documents.profiles import Evidence, Profile
from hindmost.commands.colocate.documents.stored import SupervisedBlocks, load_card, load_supervised
from hindmost.commands.colocate.prediction.decision import decide
from hindmost.commands.colocate.prediction.observation import Observations
from hindmost.commands.colocate.prediction.tail import MOST_LOAD, allowed_loss
from hindmost.core.escapes import escape_label
from hindmost.core.kubernetes import Node, Pod, WatchedFile
from hindmost.core.kubernetes.extender import MOST_SCORE, bad_share, share_of
from hindmost.core.notes import Note
from hindmost.core.store.estimates import number
from hindmost.errors import UsageError

MOST_ANSWERS = 10_000
"""Answers that are kept until a file changes."""


class CardFolder:
    """Profiles by name, the supervised windows of each server, and the answers that follow."""

    def __init__(self, cards: Mapping[str, Profile], supervised: Mapping[str, SupervisedBlocks]) -> None:
        self.cards, self.supervised = cards, supervised
        self.judge = lru_cache(MOST_ANSWERS)(self._judge)

    def _judge(self, job: str, server: str, within: float, load: float, violations: float) -> Answer:
        if server not in self.cards:
            return _unknown(job, server, within, load)
        observations = Observations(self.supervised[server])
        try:
            return decide(
                self.cards[job],
                self.cards[server],
                within=within,
                load=load,
                violations=violations,
                observations=observations,
            )
        except UsageError:  # the profiles come from different processors
            return _unknown(job, server, within, load)

    @property
    def supervised_pairs(self) -> list[tuple[str, str]]:
        """Job and server of each pair that was supervised, if both have profiles."""
        pairs = {(block.job, server) for server, found in self.supervised.items() for block in found.blocks}
        return sorted(pair for pair in pairs if pair[0] in self.cards)


def read_cards(folder: Path) -> CardFolder:
    """Read all profiles of a folder (``*.json``), and the supervised windows next to them.

    Raises
    ------
    UsageError
        The folder has no profile, one cannot be read, or two have the same name.
    """
    cards: dict[str, Profile] = {}
    supervised: dict[str, SupervisedBlocks] = {}
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
        cards[card.name], supervised[card.name] = card, load_supervised(path)
    if not cards:
        raise UsageError(
            "no-such-file",
            f"{folder} contains no profile (*.json)",
            hint="hindmost colocate profile --out FILE.json",
            path=str(folder),
        )
    return CardFolder(cards, supervised)


@dataclass
class CardJudge:
    """Decides on which nodes a job may run, by its profile and those of the servers there.

    A node is refused if one of its servers would certainly lose more than allowed, or certainly broke its
    promise under supervision next to the job. The score falls with the bound of the worst server: its largest
    possible loss, or the rate of violations. Pods and nodes without profiles are ignored.

    Attributes
    ----------
    within, load : float
        Defaults for nodes without labels: tolerable growth of the percentile, and load of the servers.
    strict : bool
        Also refuse nodes for which neither profiles nor supervised windows can decide.
    violations : float
        Share of supervised windows that may break the promise.
    """

    cards: WatchedFile[CardFolder]
    within: float = 0.10
    load: float = 0.5
    strict: bool = False
    violations: float = 0.05

    def find_refusals(self, pod: Pod, nodes: Sequence[Node]) -> dict[str, Note]:
        """Refuse nodes on which the pod's job would slow a server too much."""
        refusals, folder = {}, self.cards.now()
        for node in nodes:
            answers = self._answers(folder, pod, node)
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
        scores, folder = {}, self.cards.now()
        for node in nodes:
            answers = self._answers(folder, pod, node)
            if answers and not isinstance(answers, Note) and all(one.answer == "yes" for one in answers):
                left = min(map(_tolerance_left, answers))
                scores[node.name] = max(1, round(MOST_SCORE * left))
        return scores

    def gauges(self) -> dict[str, float]:
        """Return the figures on profiles, and on supervised pairs at the default load, for ``/metrics``."""
        folder = self.cards.now()
        gauges: dict[str, float] = {
            "cards": len(folder.cards),
            "files_unreadable_total": self.cards.unreadable,
        }
        for job, server in folder.supervised_pairs:
            answer = folder.judge(job, server, self.within, self.load, self.violations)
            if (found := answer.evidence.supervised) is not None:
                labels = f'{{job="{escape_label(job)}",server="{escape_label(server)}"}}'
                gauges[f"supervised_hours{labels}"] = found.hours
                gauges[f"violations_bound{labels}"] = found.bound
        return gauges

    def _answers(self, folder: CardFolder, pod: Pod, node: Node) -> list[Answer] | Note:
        """Judge the job next to each of the node's servers; return a note if a share is unreadable."""
        job = pod.metadata("hindmost/job") or ""
        if job not in folder.cards:
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
        return [folder.judge(job, name, within, load, self.violations) for name in names]


def _label(node: Node, key: str) -> str | None:
    return node.annotations.get(key, node.labels.get(key))


def _tolerance_left(answer: Answer) -> float:
    """Return the share of the tolerance that a yes leaves."""
    found = answer.evidence.supervised
    if answer.by == "supervised" and found is not None and answer.violations:
        return 1 - found.bound / answer.violations
    return 1 - answer.worst / answer.allowed


def _unknown(job: str, server: str, within: float, load: float) -> Answer:
    return Answer(
        job=job,
        server=server,
        answer="unknown",
        by="bound",
        evidence=Evidence(pairs=0, supervised=None),
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
    worst, found = number(answer.worst), answer.evidence.supervised
    loses = "more" if answer.answer == "no" else "an unknown share" if worst is None else f"up to {worst:.1%}"
    values = {name: getattr(answer, name) for name in ("server", "job", "load", "allowed", "by")}
    text = (
        f"{answer.server} may lose {answer.allowed:.1%} of its rate at load {answer.load:.0%}, and loses"
        f" {loses} next to {answer.job}"
    )
    if answer.by == "supervised" and found is not None:
        values |= {"least": found.least, "hours": found.hours}
        text = (
            f"{answer.server} next to {answer.job} broke its promise in at least {found.least:.1%} of"
            " supervised windows"
        )
    code = "server-would-lose" if answer.answer == "no" else "loss-unknown"
    return Note(code, f"hindmost: {text}", values | {"worst": worst})
