"""The ESCI protocol on files of the real format: which products, pairs and queries are kept."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rars.data import Dataset
from rars.data.checking import check_folder
from rars.data.esci import EXAMPLES, PRODUCTS, EsciCounts, make_esci
from rars.data.markup import first_words, plain
from rars.data.problems import ProblemsFound
from rars.data.splits import held_out
from rars.errors import RarsError

SAMPLE = Path(__file__).parents[2] / ".." / "shared" / "data" / "esci_sample"

Rows = list[dict[str, Any]]


def example(query: int, product: str, label: str, split: str, **more: Any) -> dict[str, Any]:
    return {
        "example_id": query * 100,
        "query": f"query {query}",
        "query_id": query,
        "product_id": product,
        "product_locale": "us",
        "esci_label": label,
        "small_version": 1,
        "large_version": 1,
        "split": split,
    } | more


def product(name: str, **more: Any) -> dict[str, Any]:
    return {
        "product_id": name,
        "product_title": f"Title of {name}",
        "product_description": None,
        "product_bullet_point": None,
        "product_brand": None,
        "product_color": None,
        "product_locale": "us",
    } | more


EXAMPLE_ROWS: Rows = [
    example(10, "A", "E", "train"),
    example(10, "B", "S", "train"),
    example(10, "C", "C", "train"),
    example(10, "D", "I", "train"),  # Irrelevant only: no positive, so D is outside the catalogue
    example(2, "E", "E", "train"),  # a training positive without a category
    example(2, "B", "I", "train"),
    example(3, "F", "E", "train", small_version=0),
    example(4, "G", "E", "train", product_locale="es"),
    example(5, "A", "S", "test"),
    example(5, "B", "I", "test"),
    example(5, "H", "E", "test"),  # never a training positive
    example(6, "H", "E", "test"),  # nothing left of this query
    example(7, "C", "I", "test"),  # judged in the catalogue, but without a positive
]
PRODUCT_ROWS: Rows = [
    product(
        "A", product_title="Phone &amp; case", product_description="<b>Thin</b><br>case &lt; 5 mm"
    ),
    product("A", product_locale="es", product_title="Funda"),
    product("B", product_bullet_point="First\nSecond", product_brand="Acme", product_color="Red"),
    product("C", product_title=None, product_description="Only a <i>description</i>"),
    *(product(name) for name in "DEFH"),
    product("G", product_locale="es"),
]
CATEGORY_ROWS: Rows = [
    {
        "type": "product",
        "locale": "us",
        "asin": "A",
        "category": ["Phones", "Cases", "Flip", "Thin"],
    },
    {"type": "product", "locale": "es", "asin": "B", "category": ["Otra"]},
    {"type": "product", "locale": "us", "asin": "B", "category": ["Phones", "", "Films"]},
    {"type": "product", "locale": "us", "asin": "C", "category": ["Books"]},
    {"type": "product", "locale": "us", "asin": "E", "category": []},
    {"type": "product", "locale": "us", "asin": "H", "category": ["Phones"]},
]


def write_source(
    folder: Path, examples: Rows = EXAMPLE_ROWS, products: Rows = PRODUCT_ROWS
) -> Path:
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(examples), folder / EXAMPLES)
    pq.write_table(pa.Table.from_pylist(products), folder / PRODUCTS, row_group_size=2)
    return folder


def write_categories(path: Path, rows: Rows = CATEGORY_ROWS) -> Path:
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    if path.suffix == ".gz":
        data = gzip.compress(data)
    elif path.suffix == ".zst":
        data = pa.compress(data, "zstd", asbytes=True)
    path.write_bytes(data)
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_source(tmp_path / "esci")


def pairs(folder: Path) -> dict[tuple[str, str], float]:
    rows = pq.read_table(folder / "judgments.parquet").to_pylist()
    return {(row["query_id"], row["item_id"]): row["grade"] for row in rows}


@pytest.mark.parametrize("name", ["esci-s.json", "esci-s.json.gz", "esci-s.json.zst"])
def test_the_papers_protocol(tmp_path: Path, source: Path, name: str) -> None:
    """Small version, one locale, catalogue of training positives with a category, test inside it."""
    categories = write_categories(tmp_path / name)
    counts = make_esci(source, tmp_path / "out", locale="us", categories=categories)
    dataset = Dataset.load(tmp_path / "out")
    items = {item["id"]: item for item in dataset.items().to_pylist()}
    assert list(items) == ["A", "B", "C"]
    assert items["A"]["category"] == ["Phones", "Cases", "Flip", "Thin"], "the whole path is kept"
    assert items["B"]["category"] == ["Phones", "Films"], (
        "of the right locale, without empty levels"
    )
    assert pairs(tmp_path / "out") == {
        ("10", "A"): 3.0,
        ("10", "B"): 2.0,
        ("10", "C"): 1.0,
        ("2", "B"): 0.0,
        ("5", "A"): 2.0,
        ("5", "B"): 0.0,
        ("7", "C"): 0.0,
    }
    assert counts == EsciCounts(
        products=3,
        train_queries=2,
        train_pairs=4,
        train_positives=3,
        test_queries=2,
        test_pairs=3,
        test_positives=1,
        test_queries_with_positive=1,
        test_queries_eligible=1,
        products_without_category=1,
        products_without_text=0,
    )
    assert dataset.facts["protocol"]["category_filter"] is True
    assert dataset.facts["licence"] == "Apache-2.0"
    assert check_folder(tmp_path / "out").summary.queries["test"] == 2


def test_substitute_is_worth_more_than_complement(tmp_path: Path, source: Path) -> None:
    """S and C have been swapped by others; the order E > S > C > I is the meaning of the labels."""
    make_esci(source, tmp_path / "out", locale="us")
    grades = pairs(tmp_path / "out")
    assert grades["10", "A"] == 3.0
    assert grades["10", "B"] == 2.0
    assert grades["10", "C"] == 1.0
    assert grades["5", "B"] == 0.0


def test_product_text(tmp_path: Path, source: Path) -> None:
    """Entities and tags go, a sign that opens no tag stays, an untitled product gets a name."""
    make_esci(source, tmp_path / "out", locale="us")
    items = {item["id"]: item for item in Dataset.load(tmp_path / "out").items().to_pylist()}
    assert items["A"]["title"] == "Phone & case", "of this locale, not of the other"
    assert items["A"]["text"] == "Thin case < 5 mm"
    assert items["B"]["text"] == "First\nSecond"
    assert (items["B"]["brand"], items["B"]["color"]) == ("Acme", "Red")
    assert items["C"]["title"] == items["C"]["text"] == "Only a description"
    assert items["E"]["text"] is None


def test_without_categories_nothing_is_filtered_and_the_facts_say_so(
    tmp_path: Path, source: Path
) -> None:
    counts = make_esci(source, tmp_path / "out", locale="us")
    dataset = Dataset.load(tmp_path / "out")
    assert dataset.item_ids.to_pylist() == ["A", "B", "C", "E"]
    assert dataset.facts["protocol"]["category_filter"] is False
    assert counts.test_queries_eligible == counts.test_queries_with_positive == 1


def test_full_catalogue_keeps_every_judged_product(tmp_path: Path, source: Path) -> None:
    categories = write_categories(tmp_path / "esci-s.json")
    counts = make_esci(
        source, tmp_path / "out", locale="us", categories=categories, full_catalogue=True
    )
    dataset = Dataset.load(tmp_path / "out")
    assert dataset.item_ids.to_pylist() == ["A", "B", "C", "D", "E", "H"]
    assert counts.test_queries_with_positive == 2
    assert counts.test_queries_eligible == 1, "no training positive has H's category"
    queries = pq.read_table(tmp_path / "out" / "queries.parquet").to_pylist()
    assert {q["id"]: q["eligible"] for q in queries if q["split"] == "test"} == {
        "5": True,
        "6": False,
        "7": False,
    }
    tested = dataset.queries_in("test", eligible=True)
    assert dataset.query_ids.take(pa.array(tested)).to_pylist() == ["5"]
    assert set(dataset.query_locales) == {"us"}


def test_validation_queries_do_not_make_a_category_known(tmp_path: Path) -> None:
    """Held-out queries train nothing, so what only they reach is not eligible."""
    assert held_out(["1"]).all()
    rows = [
        example(1, "A", "E", "train"),
        example(10, "B", "E", "train"),
        example(5, "A", "E", "test"),
        example(6, "B", "E", "test"),
    ]
    source = write_source(tmp_path / "esci", rows)
    categories = write_categories(tmp_path / "esci-s.json")
    counts = make_esci(source, tmp_path / "out", locale="us", categories=categories)
    assert (counts.test_queries_with_positive, counts.test_queries_eligible) == (2, 1)


def test_other_locales(tmp_path: Path, source: Path) -> None:
    make_esci(source, tmp_path / "out", locale="es")
    dataset = Dataset.load(tmp_path / "out")
    assert dataset.item_ids.to_pylist() == ["G"]
    assert dataset.name == "esci-es"
    with pytest.raises(RarsError, match="Unknown ESCI locale 'fr'"):
        make_esci(source, tmp_path / "fr", locale="fr")


def test_the_highest_of_repeated_judgments_is_kept(tmp_path: Path) -> None:
    rows = [example(10, "A", label, "train") for label in "CES"]
    counts = make_esci(write_source(tmp_path / "esci", rows), tmp_path / "out", locale="us")
    assert pairs(tmp_path / "out") == {("10", "A"): 3.0}
    assert counts.train_pairs == 1


def test_judged_products_without_a_row_are_counted(tmp_path: Path) -> None:
    rows = [*EXAMPLE_ROWS, example(10, "lost", "E", "train")]
    counts = make_esci(write_source(tmp_path / "esci", rows), tmp_path / "out", locale="us")
    assert counts.products_without_text == 1
    assert ("10", "lost") not in pairs(tmp_path / "out")


def test_bad_rows_are_named_and_nothing_is_written(tmp_path: Path) -> None:
    empty = example(9, "A", "E", "later") | {"query": ""}
    rows = [*EXAMPLE_ROWS, example(8, "A", "Z", "train"), empty]
    source = write_source(tmp_path / "esci", rows)
    with pytest.raises(ProblemsFound) as found:
        make_esci(source, tmp_path / "out", locale="us")
    path = source / EXAMPLES
    assert [str(problem) for problem in found.value.shown] == [
        f"{path}, row 14, column esci_label: unknown label 'Z'; expected E, S, C or I",
        f"{path}, row 15, column query: empty text",
        f"{path}, row 15, column split: unknown split 'later'; expected train, validation or test",
    ]
    assert not (tmp_path / "out").exists()


def test_missing_columns_and_files_are_named(tmp_path: Path, source: Path) -> None:
    table = pq.read_table(source / PRODUCTS)
    pq.write_table(table.drop_columns(["product_brand"]), source / PRODUCTS)
    with pytest.raises(ProblemsFound, match="column product_brand: missing column"):
        make_esci(source, tmp_path / "out", locale="us")
    (source / EXAMPLES).unlink()
    with pytest.raises(RarsError, match=f"{EXAMPLES} does not exist"):
        make_esci(source, tmp_path / "out", locale="us")
    assert not (tmp_path / "out").exists()


def test_damage_in_the_files_is_named(tmp_path: Path, source: Path) -> None:
    categories = tmp_path / "esci-s.json"
    lines = [json.dumps(row) for row in CATEGORY_ROWS]
    categories.write_text("\n".join([*lines[:2], '{"asin": "A", "category": ["x"', *lines[2:]]))
    with pytest.raises(ProblemsFound, match=r"esci-s\.json, row 3: broken JSON"):
        make_esci(source, tmp_path / "out", locale="us", categories=categories)
    path = source / PRODUCTS
    group = pq.read_metadata(path).row_group(1)
    offset = next(
        column.dictionary_page_offset or column.data_page_offset
        for column in map(group.column, range(group.num_columns))
        if column.path_in_schema == "product_title"
    )
    data = bytearray(path.read_bytes())
    data[offset : offset + 12] = b"\0" * 12
    path.write_bytes(data)
    with pytest.raises(RarsError, match="broken Parquet"):
        make_esci(source, tmp_path / "out", locale="us")
    assert not (tmp_path / "out").exists()


def test_a_product_twice_in_one_locale_is_named(tmp_path: Path) -> None:
    source = write_source(tmp_path / "esci", products=[*PRODUCT_ROWS, product("B")])
    with pytest.raises(ProblemsFound, match=r"row 10, column product_id: duplicate id"):
        make_esci(source, tmp_path / "out", locale="us")


def test_markup() -> None:
    texts = [
        "a&nbsp;b",
        "x<br/>y</p> z",
        "1 < 2 > 0",
        "<3 you",
        "l1 \n\n l2",
        "<!-- no -->yes",
        "",
        None,
    ]
    assert plain(pa.array(texts)).to_pylist() == [
        "a b",
        "x y z",
        "1 < 2 > 0",
        "<3 you",
        "l1\nl2",
        "yes",
        None,
        None,
    ]


def test_first_words_of_a_long_page_do_not_depend_on_the_cut() -> None:
    """Tags with attributes lie across every possible cut."""
    page = " ".join(f'<Td colspan="{n}" class="a b"> w{n} </Td>' for n in range(3000))
    for limit in (1, 7, 512, 2999, 5000):
        assert first_words(page, limit).split() == [f"w{n}" for n in range(min(limit, 3000))]


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="the ESCI sample is not beside the project")
def test_the_real_examples_file(tmp_path: Path) -> None:
    """Sixteen real judged pairs with their real products; all are test pairs, so all are kept whole."""
    examples = pq.read_table(SAMPLE / "examples_16.parquet")
    with (SAMPLE / "products_16.jsonl").open(encoding="utf-8") as stream:
        fields = [json.loads(line)["fields"] for line in stream]
    products = [
        product(
            one["id"],
            product_title=one["title"],
            product_description=one.get("description"),
            product_bullet_point=one.get("bullets"),
        )
        for one in fields
    ]
    source = write_source(tmp_path / "esci", products=products)
    pq.write_table(examples, source / EXAMPLES)
    with pytest.raises(RarsError, match="no judged 'us' product that the protocol keeps"):
        make_esci(source, tmp_path / "out", locale="us")
    counts = make_esci(source, tmp_path / "out", locale="us", full_catalogue=True)
    assert (counts.products, counts.test_pairs, counts.test_positives) == (16, 16, 9)
    wanted = {"E": 3.0, "S": 2.0, "C": 1.0, "I": 0.0}
    for row in examples.to_pylist():
        assert pairs(tmp_path / "out")["535", row["product_id"]] == wanted[row["esci_label"]]
    texts = Dataset.load(tmp_path / "out").items()["text"].to_pylist()
    assert all("<br>" not in (text or "") for text in texts)


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="the ESCI sample is not beside the project")
def test_real_joined_rows(tmp_path: Path) -> None:
    """485 real rows split back into the two files that ESCI consists of."""
    with (SAMPLE / "us_exact_485.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    names = list(example(1, "A", "E", "train"))
    numbers = {"example_id", "query_id", "small_version", "large_version"}
    examples = [{n: int(row[n]) if n in numbers else row[n] for n in names} for row in rows]
    products = {row["product_id"]: {n: row[n] or None for n in product("A")} for row in rows}
    source = write_source(tmp_path / "esci", examples, list(products.values()))
    counts = make_esci(source, tmp_path / "out", locale="us")
    train = [row for row in examples if row["split"] == "train" and row["small_version"] == 1]
    kept = {row["product_id"] for row in train}
    assert counts.products == len(kept)
    assert counts.train_pairs == len({(row["query_id"], row["product_id"]) for row in train})
    assert counts.train_queries == len({row["query_id"] for row in train})
    assert check_folder(tmp_path / "out").summary.items == len(kept)
