"""BM25, dense and their fusion answer to the same commands as every other run."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from rars.cli import app
from rars.config import Recipe, recipe_names
from rars.errors import RarsError
from rars.identifiers import Identifiers
from rars.runs import Run
from tests import command
from tests.search.trained import CHANGES, make_run

COMPARED = ("bm25", "dense", "dense-tuned", "fusion")


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RARS_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        yield


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A tiny shop, a generative run, and a run of each comparison system."""
    folder = tmp_path_factory.mktemp("home")
    make_run(folder, "generative")
    for name in COMPARED:
        line = ["train", name, "--data", folder / "shop", "--out", folder / name, "--json"]
        quick = ["--set", "dense.epochs=2"] if name == "dense-tuned" else []
        app([*map(str, line), *quick], standalone_mode=False)
    return folder


@pytest.fixture
def rars(capsys):
    """Run a command in this process; what it wrote to stdout, and to stderr."""

    def call(*words):
        capsys.readouterr()
        app([str(word) for word in words], standalone_mode=False)
        return capsys.readouterr()

    return call


def test_they_are_recipes_that_come_with_the_package():
    assert set(COMPARED) <= set(recipe_names())
    assert Recipe.resolve("bm25").system == "bm25"
    assert Recipe.resolve("dense-tuned").own["dense"].tune == "maps"
    assert Recipe.resolve("rars").system == "generative"


def test_a_resolved_recipe_is_taken_as_it_is(tmp_path):
    """What it leaves out is a value of none, which no size may fill in; a partial one still gets its size."""
    resolved = Recipe.resolve("rars", size="paper", changes=["training.clip=0.9"])
    assert resolved.model.decoder_layers is None
    path = tmp_path / "recipe.toml"
    path.write_text(resolved.to_toml())
    assert Recipe.resolve(path, size="tiny") == resolved
    assert Recipe.resolve(path, size="tiny", changes=["model.dropout=0.2"]).model.dropout == 0.2
    path.write_text('name = "mine"\nextends = "base"\n')
    assert Recipe.resolve(path, size="tiny").model == Recipe.resolve("base", size="tiny").model


@pytest.mark.parametrize("name", COMPARED)
def test_training_again_finds_it_made(rars, home, name):
    """Also from the run's own recipe file, as an experiment would call it."""
    before = (home / name / "model" / "manifest.json").read_bytes()
    line = ("train", home / name / "recipe.toml", "--data", home / "shop", "--out", home / name)
    said = rars(*line, "--json")
    found = json.loads(said.out)
    assert found.keys() == {"run", "recipe", "system", "seconds", "learned", "peak_memory"}
    assert (found["recipe"], found["system"]) == (name, name.removesuffix("-tuned"))
    assert "is made already" in said.err
    assert (home / name / "model" / "manifest.json").read_bytes() == before


def test_what_was_learned_is_said(rars, home):
    def learned(name):
        line = ("train", home / name / "recipe.toml", "--data", home / "shop", "--out", home / name)
        return json.loads(rars(*line, "--json").out)["learned"], rars(*line).out

    assert learned("bm25")[0] == learned("dense")[0] == {}
    tuned, said = learned("dense-tuned")
    assert len(tuned["tuning"]["quality"]) == 3
    assert "of 2 kept" in said
    fused, said = learned("fusion")
    assert sum(fused["weights"]) == pytest.approx(1)
    assert "weights: BM25" in said


@pytest.mark.parametrize("name", COMPARED)
@pytest.mark.parametrize("rule", [(), ("--rule", "plain"), ("--rule", "ar,all")])
def test_evaluate_keeps_numbers_under_the_one_rule(rars, home, name, rule):
    [numbers] = json.loads(rars("evaluate", home / name, *rule, "--json").out)["evaluations"]
    assert numbers["rule"] == "plain"
    assert numbers["measures"]["Recall@100"]["mean"] > 0.4  # 300 items: chance finds a third
    assert (home / name / "results" / "test-plain.run").exists()
    assert set(json.loads(rars("verify", home / name, "--json").out)["verified"]) == {"test-plain"}


def test_a_rule_that_does_not_concern_it_is_mentioned(rars, home):
    assert "has one rule, plain" in rars("evaluate", home / "bm25", "--rule", "all").err
    assert "has one rule" not in rars("evaluate", home / "bm25").err


def test_an_evaluation_of_another_system_is_not_served(rars, home, tmp_path):
    """The stored numbers belong to what was made, not to the folder."""
    run = shutil.copytree(home / "bm25", tmp_path / "run")
    first = rars("evaluate", run, "--json").out
    line = ("train", "bm25", "--data", home / "shop", "--out", run, "--set", "bm25.k1=20")
    rars(*line, "--json")
    assert json.loads(rars("evaluate", run, "--json").out) != json.loads(first)


def test_compare_takes_all_of_them_together(rars, home):
    runs = [home / name for name in ("generative", *COMPARED)]
    line = ("compare", *runs, "bm25", "--rule", "ar,all", "--measures", "Recall@100", "--json")
    systems = json.loads(rars(*line).out)["systems"]
    labels = [one["name"] for one in systems] if isinstance(systems, list) else list(systems)
    assert labels == [
        *(f"{home / 'generative'} {rule}" for rule in ("ar", "all")),
        *(str(home / name) for name in COMPARED),
        "bm25",
    ]


@pytest.mark.parametrize("name", ["bm25", "dense", "fusion"])
def test_the_short_name_is_the_recipe_with_its_usual_settings(rars, home, name):
    line = ("compare", home / name, name, "--measures", "Recall@100,nDCG@10", "--json")
    for difference in json.loads(rars(*line).out)["differences"]:
        assert difference["mean"] == pytest.approx(0, abs=1e-9)


def test_systems_that_are_fitted_have_short_names_too(rars, home):
    """``rars tune`` ends with such a line."""
    line = ("compare", home / "bm25", "fusion-tuned", "--measures", "Recall@100", "--json")
    assert len(json.loads(rars(*line).out)["differences"]) == 1


def test_short_names_alone_have_no_dataset(rars):
    with pytest.raises(RarsError, match="Name at least one run folder"):
        rars("compare", "bm25", "fusion")


@pytest.mark.parametrize("name", COMPARED)
def test_search_shows_the_same_table(rars, home, name):
    said = rars("search", home / name, "black bottle", "-k", "3").out
    assert all(word in said for word in ("score", "item", "title", "brand", "category"))
    assert said.count("P0000") == 3
    found = json.loads(rars("search", home / name, "black bottle", "-k", 3, "--json").out)
    assert found["rule"] == "plain"
    scores = [hit["score"] for hit in found["hits"]]
    assert scores == sorted(scores, reverse=True)


def test_a_file_of_queries_becomes_a_file_of_results(rars, home, tmp_path):
    (tmp_path / "q.txt").write_text("black bottle\nrunning shoes\n")
    out = tmp_path / "out.run"
    rars("search", home / "bm25", "--queries", tmp_path / "q.txt", "--out", out, "-k", 3)
    rows = [line.split() for line in out.read_text().splitlines()]
    one = json.loads(rars("search", home / "bm25", "black bottle", "-k", 3, "--json").out)["hits"]
    assert [row[2] for row in rows if row[0] == "1"] == [hit["item_id"] for hit in one]
    assert rows[0][5] == "rars-plain"


MISTAKES = [
    (("search", "{bm25}", "mug", "--rule", "all"), "--rule: "),
    (("search", "{bm25}", "mug", "--category", "Nowhere"), "Nowhere"),
    (("search", "{bm25}", "mug", "--categories", "2"), "--categories: "),
    (("search", "{bm25}", "mug", "--explain"), "does not explain its results"),
    (("search", "{bm25}", "mug", "-k", "0"), "k must be at least 1"),
    (("search", "{bm25}", ""), "The query is empty"),
    (("search", "{bm25}", "mug", "--exact"), "--exact: "),
    *(
        (words, "is a bm25 system: it has no identifiers")
        for words in (
            ("index", "{bm25}"),
            ("inspect", "{bm25}"),
            ("plot", "{bm25}"),
            ("analyze", "{bm25}", "ambiguity"),
            ("catalog", "log", "{bm25}"),
        )
    ),
    (("train", "rars", "--data", "{shop}", "--out", "{bm25}"), "run of a bm25 system"),
    (("train", "bm25", "--data", "{shop}", "--out", "{generative}"), "run of a generative system"),
    (
        ("train", "bm25", "--data", "{shop}", "--out", "{new}", "--identifiers", "{generative}"),
        "--identifiers: bm25 is a bm25 system and has none",
    ),
    (
        (
            "train",
            "dense",
            "--data",
            "{shop}",
            "--out",
            "{new}",
            "--set",
            "dense.embedder=magic",
        ),
        "Unknown embedder 'magic'",
    ),
    (
        ("train", "dense", "--data", "{shop}", "--out", "{dense}", "--set", "dense.embedder=x"),
        "Unknown embedder 'x'",
    ),
    (
        ("train", "bm25", "--data", "{shop}", "--out", "{new}", "--set", "bm25.b=2"),
        "bm25.b",
    ),
]


@pytest.mark.parametrize(("words", "sentence"), MISTAKES)
def test_a_mistake_is_one_sentence_and_changes_nothing(rars, home, tmp_path, words, sentence):
    places = {path.name: path for path in home.iterdir()} | {"new": tmp_path / "new"}
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    with pytest.raises(RarsError) as error:
        rars(*(word.format(**places) for word in words))
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before
    assert not (tmp_path / "new").exists()


def test_a_killed_training_starts_over(home, tmp_path):
    """What a kill leaves (manifest, recipe, a draft) does not stand in the way of the same command."""
    run = tmp_path / "run"
    shutil.copytree(home / "bm25", run)
    (run / "model").rename(run / ".model.999999999.partial")
    done = command.rars("train", "bm25", "--data", home / "shop", "--out", run)
    assert done.returncode == 0, done.stderr
    assert not list(run.glob(".model*"))


# -- identifiers of another run ------------------------------------------------------------------


def taking_over(home, out, *more):
    changes = [word for change in CHANGES for word in ("--set", change)]
    line = ("train", "base", "--data", home / "shop", "--out", out, *changes, *more, "--json")
    return (*line, "--identifiers", home / "generative")


def test_identifiers_are_taken_over(rars, home, tmp_path):
    """The model is another one, the identifiers are byte for byte the same."""
    said = rars(*taking_over(home, tmp_path / "run"))
    assert "are taken over" in said.err
    assert json.loads(said.out)["system"] == "generative"
    theirs, ours = home / "generative" / "identifiers", tmp_path / "run" / "identifiers"
    for name in ("codes.npy", "items.parquet"):
        assert (theirs / name).read_bytes() == (ours / name).read_bytes()
    sealed = [json.loads((one / "manifest.json").read_text())["files"] for one in (theirs, ours)]
    assert sealed[0] == sealed[1]
    assert "taken_over" in Run.open(tmp_path / "run").manifest()["steps"]["identifiers"]
    again = rars(*taking_over(home, tmp_path / "run"))
    assert "there already" in again.err
    assert "trained already" in again.err


def test_identifiers_of_other_settings_are_refused(rars, home, tmp_path):
    line = taking_over(home, tmp_path / "run", "--set", "identifiers.seed=7")
    with pytest.raises(RarsError, match=r"identifiers\.seed = 42, but the recipe says 7"):
        rars(*line)
    assert not (tmp_path / "run").exists()


def test_identifiers_of_another_dataset_are_refused(rars, home, tmp_path):
    from rars.data.shop import make_shop

    make_shop(tmp_path / "shop", size="tiny", seed=1)
    line = [word if word != home / "shop" else tmp_path / "shop" for word in taking_over(home, "x")]
    with pytest.raises(RarsError, match="are of another dataset"):
        rars(*line)


def test_identifiers_that_a_run_has_of_its_own_stay(rars, home, tmp_path):
    """A run with others, made with the same settings, is not silently mixed with those asked for."""
    run = shutil.copytree(home / "generative", tmp_path / "run")
    known = Identifiers.load(run / "identifiers")
    fewer = replace(known, item_ids=known.item_ids[1:], codes=known.codes[1:])
    fewer.save(run / "identifiers")
    with pytest.raises(RarsError, match="are not those of"):
        rars(*taking_over(home, run))


@pytest.mark.parametrize(
    ("source", "words"), [("nowhere", "not a rars run"), ("bm25", "identifiers")]
)
def test_a_run_without_identifiers_gives_none(rars, home, tmp_path, source, words):
    line = taking_over(home, tmp_path / "run")
    with pytest.raises(RarsError, match=words):
        rars(*line[:-1], home / source)


def test_a_run_of_an_earlier_version_says_what_to_do_and_doing_it_helps(rars, home, tmp_path):
    """Earlier versions kept no recipe beside the model."""
    run = tmp_path / "words"
    shutil.copytree(home / "bm25", run, symlinks=True)
    (run / "model" / "recipe.toml").unlink()
    manifest = run / "model" / "manifest.json"
    sealed = json.loads(manifest.read_text())
    del sealed["files"]["recipe.toml"]
    manifest.write_text(json.dumps(sealed))
    with pytest.raises(RarsError, match=r"model/recipe\.toml; train it again: (.*)$") as refused:
        rars("search", run, "mug")
    words = str(refused.value).rpartition("train it again: rars ")[2].split()
    assert words == ["train", "bm25", "--data", str(home / "shop"), "--out", str(run)]
    rars(*words)
    assert rars("search", run, "mug", "--json").out
