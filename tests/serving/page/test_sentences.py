"""What is told to people agrees with the numbers."""

from __future__ import annotations

import pytest

from rars.search.why_not import why_not as library_why_not
from rars.serving.page.address import Address
from rars.serving.page.sentences import why, why_not
from rars.serving.schemas import ExplainResponse, Hit
from rars.systems import Query


def asked(reasons, **step):
    one = {"probability": 0.2, "model": -1.6, "evidence": 2.0} | step
    found = {"steps": [one], "reasons": reasons, "categories": [], "parts": {}}
    return why(Hit(rank=3, item_id="a", score=0.4, title="A", explanation=found), "q")


def reason(text, matched, kind="bm25"):
    return {"text": text, "matched": matched, "kind": kind}


def test_what_an_item_has_and_lacks_is_told_once():
    told = asked([reason("mug", True), reason("red", False, "color"), reason("red", False)])
    assert "3rd" in told.headline
    assert told.lines[0] == "Of what was asked for it has “mug”, but not “red”."
    assert [(one.text, one.kind, one.has) for one in told.asked] == [
        ("mug", "word", True),
        ("red", "colour", False),
    ]


def test_pairs_of_japanese_are_told_as_people_write_them():
    pairs = [("パー", 1), ("ープ", 1), ("プル", 1), ("すい", 0), ("いと", 0), ("とう", 0)]
    told = asked(
        [reason(text, bool(has)) for text, has in pairs] + [reason("パープル", True, "color")]
    )
    assert [(one.text, one.has) for one in told.asked] == [("すいとう", False), ("パープル", True)]


def test_only_the_model_counted_where_there_is_no_evidence():
    assert "Only the model counted" in " ".join(asked([], evidence=0.0).lines)


def response(told):
    return ExplainResponse(
        query=told.query, system="s", version=None, rule=told.rule, item_id=told.item_id,
        found=told.reason == "found", reason=told.reason, sentence=told.sentence,
        why_not=told.as_dict(), request_id="",
    )  # fmt: skip


@pytest.mark.parametrize("rule", ["ar", "hybrid", "all"])
def test_every_item_gets_the_reason_that_the_library_finds(served, rule):
    system = served.engine.systems.now().system
    seen = set()
    for item in [*system.catalogue.ids.to_pylist()[::11], "nobody"]:
        for filter in (None, "color = black"):
            told = library_why_not(system, Query("black mug", k=5, rule=rule, filter=filter), item)
            here = Address("why", q="black mug", rule=rule, k=5, filter=filter or "", item=item)
            said = why_not(response(told), here)
            seen.add(told.reason)
            text = " ".join([said.headline, *said.lines])
            if told.reason == "pruned":
                assert f"step {told.depth} of {len(told.steps)}" in text
                assert any("exact=1" in one.url for one in said.tries)
            elif told.reason == "below":
                assert str(told.rank) in text
                assert told.beaten_by[-1].title in text
            elif told.reason == "filtered":
                assert "color = black" in text
                assert all("filter=" not in one.url for one in said.tries)
            elif told.reason == "routed":
                assert told.category.path in text
                assert [one.url for one in said.tries] == [here.to(categories="all")]
    assert {"unknown", "filtered"} < seen


def test_a_system_of_words_tells_rank_or_nothing(served):
    system = served.engine.systems.now("bm25").system
    here = Address("why", q="black mug", system="bm25", k=5)
    told = [
        library_why_not(system, Query("black mug", k=5), item)
        for item in system.catalogue.ids.to_pylist()[::17]
    ]
    for one in told:
        assert why_not(response(one), here).headline
    assert {"unscored"} <= {one.reason for one in told}
