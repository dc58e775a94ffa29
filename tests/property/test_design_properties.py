"""Properties of every experimental design."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st
from messages import assert_error

from hindmost.commands.attribute.design import Factor, choose, fraction, offer, precision, schedule
from hindmost.commands.attribute.design.coding import model_matrix
from hindmost.errors import UsageError

levels = st.integers(2, 3).map(lambda count: tuple(str(i) for i in range(count)))
factor_lists = st.lists(levels, min_size=1, max_size=5).map(
    lambda each: [Factor(f"f{i}", names) for i, names in enumerate(each)]
)


@st.composite
def studies(draw: st.DrawFn) -> tuple[list[Factor], list[dict[str, str]]]:
    factors = draw(factor_lists)
    forbidden = draw(
        st.lists(
            st.lists(st.sampled_from(factors), min_size=1, max_size=3, unique=True).flatmap(
                lambda subset: st.fixed_dictionaries({f.name: st.sampled_from(f.levels) for f in subset})
            ),
            max_size=3,
        )
    )
    return factors, forbidden


@settings(max_examples=30, deadline=None)
@given(studies(), st.sampled_from(["auto", "full", "fraction", "screening"]))
def test_every_request_gives_a_sound_design_or_a_refusal(study, kind: str) -> None:
    factors, forbidden = study
    try:
        design = choose(factors, kind=kind, forbidden=forbidden)
    except UsageError:
        event("refused")
        return
    assert len(set(design.cells)) == len(design.cells)
    for cell in (*design.cells, design.control):
        setting = design.setting(cell)
        assert not any(all(setting[name] == level for name, level in one.items()) for one in forbidden)
    assert np.linalg.matrix_rank(design.matrix()) == len(design.columns)
    assert np.linalg.matrix_rank(design.matrix("average")) == len(design.columns)
    assert design.terms[0] == ()
    for term in design.terms:  # marginality
        assert all((name,) in design.terms for name in term)
    assert not set(design.unknown) & set(design.terms)
    assert set(precision(design, 5)) == set(design.terms[1:])
    assert design.text


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 11), st.sampled_from([3, 4, 5]))
def test_alias_sets_partition_the_interactions(count: int, resolution: int) -> None:
    """No term is in two alias sets. Main effects are aliased only with interactions that the resolution allows."""
    design = fraction([Factor(f"f{i}", ("0", "1")) for i in range(count)], resolution)
    members = [one for term in design.terms for one in (term, *design.aliases[term])]
    assert max(Counter(members).values()) == 1
    pairs = {one for one in members if 1 <= len(one) <= 2}
    assert len(pairs) == count + count * (count - 1) // 2
    for word in design.words:
        assert len(word) >= (design.resolution or 0) >= resolution
    for term, others in design.aliases.items():
        assert all(len(term) + len(other) >= resolution for other in others)


@settings(max_examples=15, deadline=None)
@given(factor_lists, st.integers(0, 6), st.integers(0, 2**62), st.integers(0, 3))
def test_each_block_has_each_cell_once(factors, blocks: int, seed: int, controls: int) -> None:
    design = choose(factors)
    planned = schedule(design, blocks, seed, controls=controls)
    assert len(planned) == blocks * (len(design.cells) + controls)
    for block in range(blocks):
        block_runs = [run for run in planned if run.block == block]
        assert Counter(t.cell for t in block_runs if not t.is_control) == Counter(design.cells)
        assert [t.position for t in block_runs] == list(range(len(block_runs)))
    assert planned == sorted(planned, key=lambda run: (run.block, run.position))


@settings(max_examples=15, deadline=None)
@given(factor_lists, st.integers(1, 3000), st.integers(1, 3), st.integers(0, 2))
def test_an_offer_stays_within_its_budget(factors, runs: int, loads: int, controls: int) -> None:
    try:
        proposal = offer(factors, runs, loads=loads, controls=controls)
    except UsageError as error:
        assert_error(error, "too-few-runs", have=runs)
        least = error.fields["need"]
        assert runs < least == offer(factors, least, loads=loads, controls=controls).runs
        return
    assert proposal.runs == proposal.blocks * loads * (len(proposal.design.cells) + controls) <= runs
    matrix = model_matrix(proposal.design.factors, proposal.design.cells, proposal.design.terms)
    assert np.linalg.matrix_rank(matrix) == matrix.shape[1]
