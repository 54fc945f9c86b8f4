"""Damaged replies are read like the good one or refused, and never read differently."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from tests.models.damages import DAMAGES, FATAL, GOOD, Kind, applied, outcome_of, outcomes

_KINDS: tuple[Kind, ...] = get_args(Kind)


def test_each_damage_alone_and_every_two_together_are_undone_or_refused() -> None:
    found = [*outcomes()]
    assert [one for one in found if one.outcome == "wrong"] == []
    assert [one for one in found if not one.fatal and one.outcome != "right"] == []
    assert {one.outcome for one in found if one.fatal and len(one.names) == 1} == {"refused"}


@pytest.mark.parametrize("kind", _KINDS)
@given(data=st.data())
def test_more_damages_never_make_another_reply(kind: Kind, data: st.DataObject) -> None:
    known = {**DAMAGES[kind], **FATAL}
    names = data.draw(st.sets(st.sampled_from([*known]), min_size=3, max_size=6))
    damages = [damage for name, damage in known.items() if name in names]
    reply = applied(AIMessage(GOOD[kind]), *damages)
    assert outcome_of(kind, reply) != "wrong", reply
