"""What a person types to search and to change a catalogue."""

from __future__ import annotations

import json
import shutil

import pytest

from rars.cli import app
from rars.errors import RarsError
from rars.runs import Run
from rars.search import index, weights
from rars.search.retriever import Retriever
from rars.search.rules import HybridSettings
from tests import command
from tests.search.trained import make_run


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("cli"))


@pytest.fixture
def run(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "run")


@pytest.fixture
def rars(capsys):
    """Run a command in this process; what it wrote to stdout, and to stderr."""

    def call(*words):
        capsys.readouterr()
        app([str(word) for word in words], standalone_mode=False)
        return capsys.readouterr()

    return call


@pytest.mark.parametrize(
    "command",
    [
        ["search"],
        ["index"],
        *(
            ["catalog", verb]
            for verb in ("add", "apply", "diff", "log", "prune", "remove", "rollback", "update")
        ),
    ],
)
def test_every_command_has_help_with_an_example(rars, command):
    assert f"Example: rars {' '.join(command)}" in " ".join(rars(*command, "--help").out.split())


def test_search_shows_a_table(rars, trained):
    said = rars("search", trained, "black bottle", "-k", "3").out
    assert all(word in said for word in ("score", "item", "title", "brand", "category"))
    assert said.count("P0000") == 3


@pytest.mark.parametrize("rule", ["ar", "all", "hybrid", "011"])
def test_json_holds_what_the_table_shows(rars, trained, rule):
    found = json.loads(
        rars("search", trained, "black bottle", "--rule", rule, "-k", 4, "--json").out
    )
    assert found["rule"] == rule
    assert [hit["rank"] for hit in found["hits"]] == [1, 2, 3, 4]
    assert {"item_id", "score", "title", "brand", "color", "category"} <= found["hits"][0].keys()
    assert "explanation" not in found["hits"][0]


def test_explain_shows_the_path_and_its_reasons(rars, trained):
    line = ("search", trained, "black bottle 0.75 l", "-k", 1, "--explain", "--rule", "all")
    said = " ".join(rars(*line).out.split())
    assert all(word in said for word in ("searched:", "model", "evidence", "black (color)"))
    [hit] = json.loads(rars(*line, "--json").out)["hits"]
    steps = hit["explanation"]["steps"]
    assert [step["code"] for step in steps] == hit["identifier"]
    assert len(hit["explanation"]["categories"]) == 3
    off = json.loads(rars(*line, "--categories", 0, "--json").out)["hits"][0]
    assert off["explanation"]["categories"] == []


def test_what_looks_like_markup_is_shown_as_it_is(rars, trained):
    said = rars("search", trained, "[bold]bottle[/nothing]", "-k", 1, "--explain").out
    assert "[bold]bottle" in said


def test_a_category_narrows_the_search(rars, trained):
    hit = json.loads(rars("search", trained, "bottle", "-k", 1, "--json").out)["hits"][0]
    path = " > ".join(hit["category"][:2])
    line = ("search", trained, "anything", "--category", path, "-k", 20, "--json")
    for found in json.loads(rars(*line).out)["hits"]:
        assert found["category"][:2] == hit["category"][:2]


@pytest.mark.parametrize(
    ("name", "content", "ids"),
    [
        ("q.txt", "black bottle\n\nrunning shoes\n", ["1", "3"]),
        ("q.csv", "id,text\na b,black bottle\nc,running shoes\n", ["a b", "c"]),
        ("q.jsonl", '{"id": "x", "text": "black bottle"}\n', ["x"]),
    ],
)
def test_a_file_of_queries_becomes_a_file_of_results(rars, trained, tmp_path, name, content, ids):
    (tmp_path / name).write_text(content, encoding="utf-8")
    out = tmp_path / "out.jsonl"
    line = ("search", trained, "--queries", tmp_path / name, "-k", 5, "--out")
    said = json.loads(rars(*line, out, "--json").out)
    assert (said["queries"], said["hits"]) == (len(ids), 5 * len(ids))
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == ids
    one = json.loads(rars("search", trained, "black bottle", "-k", 5, "--json").out)["hits"]
    assert [hit["item_id"] for hit in rows[0]["hits"]] == [hit["item_id"] for hit in one]
    rars(*line, tmp_path / "out.run")
    trec = [row.split() for row in (tmp_path / "out.run").read_text().splitlines()]
    assert [row[2] for row in trec[:5]] == [hit["item_id"] for hit in one]
    assert {row[0] for row in trec} == {name.replace(" ", "%20") for name in ids}
    assert trec[0][5] == "rars-hybrid"


def test_a_catalogue_is_changed_logged_and_rolled_back(rars, run, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text("id,title,brand\nN1,Turquoise theremin,Zyxquor\n")
    assert "301 items (1 added, 0 removed)" in rars("catalog", "add", run, new).out
    line = ("search", run, "zyxquor theremin", "-k", 1, "--json")
    assert json.loads(rars(*line).out)["hits"][0]["item_id"] == "N1"
    new.write_text("id,title\nN1,Purple ocarina\n")
    assert json.loads(rars("catalog", "update", run, new, "--json").out)["removed"] == 1
    line = ("search", run, "purple ocarina", "-k", 1, "--json")
    assert json.loads(rars(*line).out)["hits"][0]["title"] == "Purple ocarina"
    assert "v000002" in rars("catalog", "rollback", run).out
    assert json.loads(rars("catalog", "remove", run, new, "--json").out)["items"] == 300
    log = json.loads(rars("catalog", "log", run, "--json").out)
    assert log["current"] == "v000004"
    assert "searched now: v000004" in rars("catalog", "log", run).out


def test_index_makes_what_is_missing_and_tunes(rars, run):
    assert "v000001" in rars("index", run).out
    shutil.rmtree(run / "index")
    said = json.loads(rars("index", run, "--json", "--tune").out)
    assert said["version"] == "v000001"
    parts = {"bm25", "dense", "paper", "neighbours", "letters"}
    assert said["hybrid"].keys() == parts | {"weight", "prior", "bound"}
    assert json.loads(rars("index", run, "--json", "--force").out)["version"] == "v000002"
    assert index.is_current(Run.open(run))


def test_an_evaluation_with_other_hybrid_weights_is_not_served(rars, run):
    """Tuning after an evaluation must not leave the old numbers standing."""

    def told(rule):
        done = json.loads(rars("evaluate", run, "--rule", rule, "--json").out)
        return done["evaluations"][0]["search"].get("hybrid")

    before = told("hybrid")
    opened = Retriever.load(run)
    model = opened.index.meta["model"]
    weights.keep(opened.run, model, HybridSettings(bm25=1.0, dense=0.0, weight=40.0))
    assert told("hybrid") == HybridSettings(bm25=1.0, dense=0.0, weight=40.0).model_dump() != before
    assert told("ar") is None


def test_exact_int8_and_locale_are_options_of_a_search(rars, trained):
    line = ("search", trained, "black bottle", "-k", 5, "--json")

    def ids(*more):
        return [hit["item_id"] for hit in json.loads(rars(*line, *more).out)["hits"]]

    plain = ids()
    assert ids("--exact") == plain  # 300 identifiers: a beam of 100 hardly prunes
    assert len(set(ids("--int8")) & set(plain)) >= 3
    assert ids("--locale", "en") == plain
    assert ids("--locale", "ja") != []


def test_help_says_that_int8_is_approximate_and_exact_is_for_small_catalogues(rars):
    said = " ".join(rars("search", "--help").out.replace("│", " ").split())
    assert "--int8" in said
    assert "Approximate" in said
    assert "for small catalogues" in said


MISTAKES = [
    (("search", "{run}"), "Give one query"),
    (("search", "{run}", "mug", "--queries", "q.txt"), "Give one query"),
    (("search", "{run}", ""), "The query is empty"),
    (("search", "{run}", "mug", "-k", "0"), "k must be at least 1"),
    (("search", "{run}", "mug", "--rule", "01"), "--rule 01 has 2 digits"),
    (("search", "{run}", "mug", "--rule", "magic"), "--rule 'magic' is none of"),
    (("search", "{run}", "mug", "--categories", "-1"), "--categories must be 0"),
    (("search", "{run}", "mug", "--category", "Moon"), "no category 'Moon'"),
    (("search", "{run}", "mug", "--locale", "xx"), "There is no locale 'xx'; choose en, es or ja."),
    (("search", "{run}", "mug", "--out", "x.run"), "--out goes with --queries"),
    (("search", "{run}", "--queries", "q.txt"), "--queries needs --out"),
    (("search", "{run}", "--queries", "q.txt", "--out", "x.pdf"), "of no known type"),
    (("search", "{run}", "--queries", "absent.txt", "--out", "x.run"), "absent.txt does not exist"),
    (("search", "{run}", "--queries", "absent.csv", "--out", "x.run"), "absent.csv does not exist"),
    (("search", "nowhere", "mug"), "nowhere is not a rars run"),
    (("index", "nowhere"), "nowhere is not a rars run"),
    (("catalog", "add", "{run}", "absent.csv"), "absent.csv does not exist"),
    (("catalog", "log", "nowhere"), "nowhere is not a rars run"),
    (("catalog", "rollback", "{run}", "v7"), "There is no version 'v7'"),
    (("catalog", "rollback", "{run}"), "first version"),
]


@pytest.mark.parametrize(("words", "sentence"), MISTAKES)
def test_a_mistake_is_one_sentence(rars, trained, words, sentence):
    with pytest.raises(RarsError) as error:
        rars(*(word.format(run=trained) for word in words))
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_an_evaluation_of_other_categories_is_another_one(rars, run):
    words = ("evaluate", run, "--rule", "ar", "--json")
    [few] = json.loads(rars(*words, "--categories", "1").out)["evaluations"]
    [every] = json.loads(rars(*words, "--categories", "0").out)["evaluations"]
    [own] = json.loads(rars(*words).out)["evaluations"]
    assert [one["search"]["categories"] for one in (few, every, own)] == [1, "all", "auto"]
    assert few["measures"] != every["measures"] != own["measures"]
    with pytest.raises(RarsError, match="--categories must be 0"):
        rars(*words, "--categories", "-1")
    rars("compare", run, "bm25", "--rule", "ar", "--categories", "0")
    stored = json.loads((run / "results" / "test-ar.json").read_text())
    assert stored["measures"] == every["measures"]


def test_a_mistake_ends_with_exit_code_2(trained):
    done = command.rars("search", trained, "mug", "--rule", "magic")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("rars: --rule 'magic'")
    assert "Traceback" not in done.stderr


def test_a_filter_narrows_what_is_shown_and_facets_count_it(rars, trained):
    words = ("search", trained, "bottle", "-k", "4", "--filter", "color = black")
    found = json.loads(
        rars(*words, "--facet", "color", "--facet", "lid", "--facet-over", "matching", "--json").out
    )
    assert {hit["color"] for hit in found["hits"]} == {"black"}
    color, lid = found["facets"]
    assert [one["value"] for one in color["values"]] == ["black"]
    assert color["values"][0]["count"] > 4
    assert lid["name"] == "lid"
    over_hits = json.loads(rars(*words, "--facet", "color", "--json").out)["facets"]
    assert over_hits[0]["values"] == [{"value": "black", "count": 4}]
    assert "black" in rars(*words, "--facet", "color").out
    with pytest.raises(RarsError, match="Filter, character 1: .* did you mean 'color'"):
        rars("search", trained, "bottle", "--filter", "colr = black")
    with pytest.raises(RarsError, match="There is no column 'colr'"):
        rars("search", trained, "bottle", "--facet", "colr")


def test_why_not_says_it_in_a_sentence_and_in_numbers(rars, trained):
    told = json.loads(
        rars("search", trained, "bottle", "-k", "1", "--why-not", "P0000020", "--json").out
    )
    assert told["reason"] in ("pruned", "below")
    said = rars("search", trained, "bottle", "-k", "1", "--why-not", "P0000020").out
    assert " ".join(told["sentence"].split()) in " ".join(said.split())
    assert "what stands before it" in said
    said = rars("search", trained, "bottle", "--why-not", "nothing").out
    assert "There is no item 'nothing' in the catalogue." in said


def test_walk_shows_the_branches_below_a_prefix(rars, trained):
    text = Run.open(trained).dataset().query_texts[0].as_py()
    root = json.loads(rars("search", trained, text, "--walk", "", "--json").out)
    assert root["mass"] == pytest.approx(1.0)
    first = root["children"][0]
    below = json.loads(rars("search", trained, text, "--walk", first["name"], "--json").out)
    assert (below["prefix"], below["items"]) == ([first["code"]], first["items"])
    said = rars("search", trained, text, "--walk", first["name"]).out
    assert "judged" in said
    assert below["children"][0]["name"] in said
    whole = f"{first['name']} {below['children'][0]['name']}"
    last = json.loads(rars("search", trained, text, "--walk", whole, "--json").out)
    said = rars("search", trained, text, "--walk", f"{whole} {last['children'][0]['name']}").out
    assert "P0000" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("mug", "--why-not", "x", "--walk", "a1"), "--walk and --why-not are different questions"),
        (("mug", "--facet", "brand", "--walk", "a1"), "--facet and --walk are different questions"),
        (("mug", "--walk", "zz"), "'zz' is no code of a prefix"),
        (("mug", "--walk", "a999"), "has no prefix a999"),
        (("--queries", "q.txt", "--out", "o.run", "--walk", "a1"), "--walk is about one query"),
    ],
)
def test_questions_that_do_not_fit_are_sentences(rars, trained, words, message):
    with pytest.raises(RarsError, match=message):
        rars("search", trained, *words)


def test_many_changes_are_applied_compared_and_pruned(rars, run, tmp_path):
    file = tmp_path / "changes.jsonl"
    rows = [
        {"id": "N1", "title": "Zyxquor lamp"},
        {"id": "P0000004", "delete": True},
        {"id": "N2"},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert app(["catalog", "apply", str(run), str(file), "--whole"], standalone_mode=False) == 2
    assert Retriever.load(run).index.name == "v000001"
    said = rars("catalog", "apply", run, file).out
    assert "v000002: 300 items (1 added, 0 replaced, 1 removed, 1 refused)." in said
    assert "title" in said
    queries = tmp_path / "queries.txt"
    queries.write_text("zyxquor\nblack bottle\n")
    found = json.loads(rars("catalog", "diff", run, "--queries", queries, "--json").out)
    assert (found["old"], found["new"], found["n_added"], found["n_removed"]) == (
        "v000001",
        "v000002",
        1,
        1,
    )
    assert found["rankings"][0]["query"] == "zyxquor"
    said = rars("catalog", "diff", run, "v000001", "v000002", "--queries", queries).out
    assert "Zyxquor lamp" in said
    assert "zyxquor" in said
    assert "1 removed, 1 kept: v000002." in rars("catalog", "prune", run, "--keep", "0").out
    assert "prune" in rars("catalog", "log", run).out
    with pytest.raises(RarsError, match="'v000001' was pruned"):
        rars("catalog", "diff", run, "v000001", "v000002")
