"""Tables that call their columns something else: the message says which is likely meant, ready to type."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rars.data import Dataset, schema
from rars.data.guesses import ELSEWHERE, likely
from rars.data.importing import JUDGMENT_COLUMNS, Tables, import_tables
from rars.errors import RarsError

KNOWN = {
    "BEIR": (["_id", "title", "text"], ["_id", "text"], ["query-id", "corpus-id", "score"]),
    "WANDS": (
        ["product_id", "product_name", "product_class", "average_rating"],
        ["query_id", "query", "query_class"],
        ["id", "query_id", "product_id", "label"],
    ),
    "hardware": (
        ["product_uid", "product_title"],
        ["search_id", "search_term"],
        ["search_id", "product_uid", "relevance"],
    ),
    "TREC": (["docno", "headline"], ["topic", "query"], ["topic", "docno", "rel"]),
}


@pytest.mark.parametrize("tables", KNOWN.values(), ids=KNOWN)
def test_every_column_of_a_well_known_layout_is_guessed(tables: tuple[list[str], ...]) -> None:
    for ours, present in zip(
        (("id", "title"), ("id", "text"), ("query_id", "item_id")), tables, strict=True
    ):
        for name in ours:
            assert name in present or likely(name, name, present) is not None, name


def test_other_names_are_of_columns_that_there_are_and_folded_as_they_are_compared() -> None:
    columns = {*schema.ITEMS.names, *schema.QUERIES.names, *JUDGMENT_COLUMNS}
    assert set(ELSEWHERE) <= columns
    for ours, others in ELSEWHERE.items():
        for name in others.split():
            assert likely(ours, ours, [name, "something else"]) == name


def test_two_columns_that_may_be_meant_are_none() -> None:
    assert likely("id", "id", ["sku", "asin", "title"]) is None


@given(st.sampled_from([*ELSEWHERE, "brand"]), st.text(max_size=20), st.lists(st.text(max_size=20)))
def test_a_guess_is_one_of_the_columns_or_nothing(
    ours: str, asked: str, present: list[str]
) -> None:
    for name in (ours, asked):
        found = likely(ours, name, present)
        assert found is None or found in present


def test_the_message_can_be_pasted_into_the_command(tmp_path: Path) -> None:
    (tmp_path / "i.csv").write_text("Product ID,name\n1,led lamp\n2,desk lamp\n")
    (tmp_path / "q.csv").write_text("qid,query\nq,lamp\n")
    (tmp_path / "j.csv").write_text("qid,product_id,relevance\nq,1,3\nq,2,0\n")
    paths = [tmp_path / f"{name}.csv" for name in "iqj"]
    with pytest.raises(RarsError) as error:
        import_tables(tmp_path / "made", Tables(*paths))
    text = str(error.value)
    assert "if 'Product ID' is meant: --item-column 'id=Product ID'" in text
    assert "if 'name' is meant: --item-column title=name" in text
    assert "if 'query' is meant: --query-column text=query" in text
    assert "missing column (or grade)" in text
    assert "if 'relevance' is meant: --judgment-column grade=relevance" in text
    assert not (tmp_path / "made").exists()
    named = Tables(
        *paths,
        item_columns={"id": "Product ID", "title": "name"},
        query_columns={"id": "qid", "text": "query"},
        judgment_columns={"query_id": "qid", "item_id": "product_id", "grade": "relevance"},
    )
    import_tables(tmp_path / "made", named)
    assert Dataset.load(tmp_path / "made").n_items == 2


def test_a_misspelt_name_of_the_users_own_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "i.csv").write_text("id,product_title\n1,led lamp\n")
    (tmp_path / "q.csv").write_text("id,text\nq,lamp\n")
    (tmp_path / "j.csv").write_text("query_id,item_id,grade\nq,1,3\n")
    paths = [tmp_path / f"{name}.csv" for name in "iqj"]
    with pytest.raises(RarsError, match="if 'product_title' is meant: --item-column title="):
        import_tables(tmp_path / "made", Tables(*paths, item_columns={"title": "product_titel"}))
