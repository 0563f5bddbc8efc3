"""Recipes: which setting wins, what is refused and how that is said, and that a resolved one says all."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rars.baselines
from rars.config import (
    SIZES,
    FitSettings,
    NoSettings,
    Recipe,
    Section,
    merged,
    recipe_list,
    recipe_names,
)
from rars.errors import RarsError

RECIPES = Path(str(files("rars") / "recipes"))
PROTOCOLS = sorted(path.stem for path in (RECIPES / "protocols").glob("*.toml"))
GENERATIVE = [one.name for one in recipe_list() if one.system == "generative"]


class Words(Section):
    """Settings of a made-up system."""

    k1: float = 1.2


TOYS = {
    "words": SimpleNamespace(settings=Words, uses=("words",)),
    "both": SimpleNamespace(settings=NoSettings, uses=("both", "words")),
}


@pytest.fixture
def toys(monkeypatch):
    """A table of systems of its own, so that these tests do not depend on which there are."""
    monkeypatch.setattr(rars.baselines, "SYSTEMS", TOYS, raising=False)


def resolved(name="rars", *changes, **rest):
    return Recipe.resolve(name, changes=changes, **rest)


@pytest.fixture
def written(tmp_path):
    """Writes recipe files; returns the path of each."""

    def write(name, text):
        path = tmp_path / f"{name}.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def refusal(*changes, name="rars", **rest):
    with pytest.raises(RarsError) as error:
        resolved(name, *changes, **rest)
    said = str(error.value)
    assert "\n" not in said
    assert said.endswith(".")
    return said


# -- which setting wins ----------------------------------------------------------------------------


def test_later_layers_win_defaults_size_recipe_protocol_change(written):
    """One key after the other is set by one more layer; each layer wins over those before it."""
    size = tomllib.loads((RECIPES / "sizes" / "tiny.toml").read_text())["training"]["epochs"]
    default = Recipe().training.epochs
    empty = written("empty", "")
    parent = written("parent", "[training]\nepochs = 3\n")
    at = written("at", f"extends = {parent!r}\n[at.tiny.training]\nepochs = 4\n")
    protocol = written("protocol", "[training]\nepochs = 5\n")

    assert default != size
    assert resolved(empty).training.epochs == default
    assert resolved(empty, size="tiny").training.epochs == size
    assert resolved(parent, size="tiny").training.epochs == 3
    assert resolved(at, size="tiny").training.epochs == 4
    assert resolved(at, size="small").training.epochs == 3, "what is said of a size is of that one"
    assert resolved(at, size="tiny", protocol=protocol).training.epochs == 5
    changed = resolved(at, "training.epochs=6", "training.epochs=7", size="tiny", protocol=protocol)
    assert changed.training.epochs == 7, "of two changes the later one"


def test_a_recipe_wins_over_what_it_extends_says_of_a_size(written):
    parent = written("parent", "[at.tiny.training]\nepochs = 3\nwarmup = 0.5\n")
    child = written("child", f"extends = {parent!r}\n[training]\nepochs = 4\n")
    found = resolved(child, size="tiny").training
    assert (found.epochs, found.warmup) == (4, 0.5)


def test_a_chain_of_extensions_is_laid_over_one_another(written):
    first = written("first", "[training]\nepochs = 3\nwarmup = 0.5\nclip = 2.0\n")
    second = written("second", f"extends = {first!r}\n[training]\nwarmup = 0.25\nclip = 3.0\n")
    third = written("third", f"extends = {second!r}\nname = 'third'\n[training]\nclip = 4.0\n")
    found = resolved(third)
    assert found.name == "third"
    assert (found.training.epochs, found.training.warmup, found.training.clip) == (3, 0.25, 4.0)


def test_a_file_extends_its_neighbour_wherever_it_is_read_from(written, tmp_path, monkeypatch):
    written("parent", "[training]\nepochs = 3\n")
    child = written("child", 'extends = "parent.toml"\n')
    monkeypatch.chdir("/")
    assert resolved(child).training.epochs == 3


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_circle_of_extensions_is_refused(written, tmp_path, length):
    for n in range(length):
        target = str(tmp_path / f"r{(n + 1) % length}.toml")
        written(f"r{n}", f"extends = {target!r}\n")
    said = refusal(name=str(tmp_path / "r0.toml"))
    assert "extends" in said
    assert "leads back to itself" in said


def test_a_list_replaces_a_list(written):
    parent = written("parent", "[identifiers]\nsizes = [8, 8, 8]\n")
    child = written("child", f"extends = {parent!r}\n[identifiers]\nsizes = [4, 4]\n")
    assert resolved(child).identifiers.sizes == (4, 4)
    terms = '[[objective.terms]]\nterm = "grouped"\n'
    other = written("other", f"extends = 'rars'\n{terms}")
    assert [one.term for one in resolved(other).objective.terms] == ["grouped"]


# -- lists of terms --------------------------------------------------------------------------------


def test_a_table_over_terms_changes_the_one_it_names_and_no_other():
    before, after = resolved(), resolved("rars", "objective.terms.tree.weight=0.25")
    assert after.objective.named("tree").weight == 0.25
    assert after.objective.named("tree").own == before.objective.named("tree").own
    others = [[t for t in r.objective.terms if t.name != "tree"] for r in (before, after)]
    assert others[0] == others[1]


def test_false_removes_a_term():
    found = resolved("rars", "objective.terms.tree=false").objective.terms
    assert found == resolved("base").objective.terms


def test_a_term_may_fade_and_one_that_does_not_is_written_as_before():
    """Numbers kept by what a recipe says are found again."""
    assert "until" not in resolved("rars").model_dump_json() + resolved("rars").to_toml()
    fading = resolved("rars", "objective.terms.tree.until=0.5")
    assert "until = 0.5" in fading.to_toml()
    [tree] = [one for one in fading.objective.terms if one.name == "tree"]
    assert [tree.at(progress) for progress in (0.0, 0.25, 0.5, 1.0)] == [0.5, 0.25, 0.0, 0.0]
    with pytest.raises(RarsError, match=r"until"):
        resolved("rars", "objective.terms.tree.until=1.5")


def test_a_new_name_with_a_term_adds_one():
    changes = ('objective.terms.fine.term="tree"', "objective.terms.fine.rank=8")
    found = resolved("rars", *changes).objective
    assert found.terms[-1] == found.named("fine")
    assert found.named("fine").term == "tree"
    assert found.named("fine").own.rank == 8
    assert found.named("tree").own.rank != 8


def test_two_terms_of_one_name_are_refused(written):
    text = '[[objective.terms]]\nterm = "grouped"\n[[objective.terms]]\nterm = "grouped"\n'
    assert "two terms are called 'grouped'" in refusal(name=written("twice", text))


@pytest.mark.parametrize("name", ["loss", "a.b", "../a", ""])
def test_a_name_that_journal_or_folders_cannot_hold_is_refused(name):
    listed = f'objective.terms=[{{term="grouped", name="{name}"}}]'
    assert refusal(listed).startswith("Recipe rars: objective")


def test_a_phase_with_nothing_to_train_on_is_refused():
    said = refusal("training.judged=false")
    assert "nothing to train on" in said
    assert not resolved(
        "rars", "training.judged=false", "training.indexing.share=1"
    ).training.judged


def test_a_term_that_needs_categories_is_refused_without_them():
    said = refusal("model.categories=off")
    assert "category-class" in said
    assert "objective.terms.category-class=false" in said
    without = [f"objective.terms.category-{kind}=false" for kind in ("class", "contrast")]
    assert resolved("rars", "model.categories=off", *without).model.categories == "off"


# -- what is refused, and how ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("colour=red", "colour"),
        ("training.epoch=3", "training.epoch"),
        ("training.pseudo.shares=3", "training.pseudo.shares"),
        ("model.layers=3", "model.layers"),
        ("search.widht=3", "search.widht"),
        ("identifiers.size=3", "identifiers.size"),
        ("identifiers.residual-kmeans.iteration=3", "identifiers.residual-kmeans.iteration"),
        ("objective.terms.tree.siblngs=all", "terms.tree.siblngs"),
        ("objective.term=tree", "objective.term"),
        ("own.tree=3", "own"),
        ("identifiers.own=3", "identifiers.own"),
        ("objective.terms.tree.own=3", "terms.tree.own"),
        ('training.phases=[{name="a", changes={}}]', "training.phases.a.changes"),
        ('training.phases=[{name="a", epoch=3}]', "training.phases.0.epoch"),
        ('training.phases=[{name="a", pseudo={shares=1}}]', "training.phases.a.pseudo.shares"),
    ],
)
def test_an_unknown_key_is_one_sentence_that_names_it(change, named):
    said = refusal(change)
    assert said == f"Recipe rars: there is no setting {named!r}."


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("training=3", "training"),
        ("training.epochs=many", "training.epochs"),
        ("training.epochs=1.5", "training.epochs"),
        ("training.epochs=0", "training.epochs"),
        ("training.epochs=2020-01-01", "training.epochs"),
        ("training.epochs.more=1", "training.epochs"),
        ("training.learning_rate=0", "training.learning_rate"),
        ("training.learning_rate=nan", "training.learning_rate"),
        ("training.learning_rate=inf", "training.learning_rate"),
        ("training.warmup=1.5", "training.warmup"),
        ("training.keep=worst", "training.keep"),
        ("training.judged=perhaps", "training.judged"),
        ("training.seed=-1", "training.seed"),
        ("training.indexing.share=-1", "training.indexing.share"),
        ("training.indexing.weight=0", "training.indexing.weight"),
        ("training.phases=3", "training.phases"),
        ('training.phases=[{epochs=3}]', "training.phases.0.name"),
        ('training.phases=[{name="A b"}]', "training.phases.0.name"),
        ('training.phases=[{name="a", epochs=0}]', "training.phases.a.epochs"),
        ("identifiers.sizes=[]", "identifiers"),
        ("identifiers.sizes=[4, 0]", "identifiers.sizes.1"),
        ("identifiers.sizes=all", "identifiers.sizes"),
        ("identifiers.fit=3", "identifiers.fit"),
        ("identifiers.fit.epochs=0", "identifiers.fit.epochs"),
        ("identifiers.cap=0", "identifiers.cap"),
        ("identifiers.residual-kmeans=3", "identifiers.residual-kmeans"),
        ("identifiers.residual-kmeans.iterations=0", "identifiers.residual-kmeans.iterations"),
        ("model.backbone=large", "model"),
        ("model.dropout=1", "model.dropout"),
        ("model.categories=on", "model.categories"),
        ("model.category_levels=0", "model.category_levels"),
        ("model.prior=identifiers", "model"),
        ("objective.terms=[]", "objective.terms"),
        ("objective.terms=3", "objective.terms"),
        ("objective.terms=[3]", "objective.terms.0"),
        ("objective.terms.tree.weight=-1", "objective.terms.1.weight"),
        ("objective.terms.tree.temperature=0", "terms.tree.temperature"),
        ("objective.terms.tree.siblings=some", "terms.tree.siblings"),
        ("objective.relevance=cubic", "objective.relevance"),
        ("search.width=0", "search.width"),
        ("search.categories=0", "search"),
        ("search.categories=few", "search.categories"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_one_sentence_that_names_its_place(change, named):
    said = refusal(change)
    assert said.startswith(f"Recipe rars: {named}")
    assert said.removeprefix(f"Recipe rars: {named}")[0] in ":."  # unions name their branch


@pytest.mark.parametrize(
    ("change", "named", "listed"),
    [
        ("identifiers.learner=magic", "identifiers.learner", "residual-kmeans"),
        ("identifiers.learner=[1]", "identifiers.learner", "residual-kmeans"),
        ("search.rule=magic", "search.rule", "hybrid"),
        ("search.rule={}", "search.rule", "hybrid"),
        ('objective.terms=[{term="magic"}]', "objective term 'magic'", "full-sid"),
        ("objective.terms=[{term=[1]}]", "objective term [1]", "full-sid"),
        ("objective.terms=[{weight=1}]", "objective term None", "full-sid"),
        ("objective.terms.fine.term=magic", "objective term 'magic'", "full-sid"),
        ("objective.terms.fine.weight=1", "objective.terms.fine", "full-sid"),
        ("objective.terms.fine=false", "objective.terms.fine", "full-sid"),
        ("objective.terms.tree=3", "objective.terms.tree", ""),
        ("identifiers.sizes.first=3", "identifiers.sizes", ""),
    ],
)
def test_an_unknown_part_is_named_with_those_there_are(change, named, listed):
    changes = [change] if "sizes" not in change else ["identifiers.sizes=[4, 4]", change]
    said = refusal(*changes)
    assert said.startswith("Recipe rars: ")
    assert named in said
    assert listed in said


def test_an_unknown_system_is_named_with_those_there_are(toys):
    for value in ("magic", "[1]"):
        said = refusal(f"system={value}")
        assert "system" in said
        assert "generative, words, both" in said


@pytest.mark.parametrize("change", ["training.epochs", "=3", " = 3", ""])
def test_a_change_without_key_or_value_is_refused(change):
    assert "is not of the form section.key=value" in refusal(change)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("training = [", "not readable TOML"),
        ("extends = 3", "extends"),
        ("extends = 'nobody'", "There is no recipe 'nobody'"),
        ("extends = 'nobody.toml'", "nobody.toml does not exist"),
        ("at = 3", "at"),
        ("[at.huge]\nname = 'x'", "tiny, small, paper"),
        ("[at]\ntiny = 3", "at.tiny"),
        ("name = 3", "name"),
    ],
)
def test_a_file_that_is_wrong_is_named(written, text, words):
    path = written("mine", text)
    said = refusal(name=path, size="tiny")
    assert words in said
    assert "mine.toml" in said or "nobody" in said


def test_unknown_names_of_recipe_size_and_protocol_are_named_with_those_there_are():
    assert "rars" in refusal(name="nobody")
    assert "rars" in refusal(name="../rars")
    assert refusal(size="huge") == "There is no size 'huge'; choose one of tiny, small, paper."
    assert "There is no protocol 'huge'" in refusal(protocol="huge")
    assert refusal(name="none/of/it.toml") == "The recipe none/of/it.toml does not exist."


KEYS = [
    "name", "system", "own", "extends", "at", "training", "training.epochs", "training.seed",
    "training.phases", "training.phases.a", "training.phases.a.terms", "training.pseudo",
    "training.pseudo.share", "objective", "objective.terms", "objective.terms.tree",
    "objective.terms.tree.term", "objective.terms.tree.name", "objective.terms.tree.rank",
    "objective.terms.new.term", "identifiers", "identifiers.learner", "identifiers.sizes",
    "identifiers.sizes.a", "identifiers.fit", "identifiers.fit.epochs", "identifiers.rqvae",
    "identifiers.residual-kmeans", "identifiers.own", "model", "model.backbone", "model.dropout",
    "search", "search.rule", "search.all", "search.categories", "", ".", "a..b",
]  # fmt: skip
VALUES = [
    "", "1", "-1", "0", "1e9", "nan", "-inf", "true", "false", "word", '"text"', "[]", "{}", "[1]",
    "[[1]]", "[{}]", "[{term=1}]", '[{term="tree"}]', '[{name=[1], term="tree"}]', "{a=1}", "[[]]",
    '[{name="a"}]', '[{name="a", terms=[{}]}]', '[{name="a", epochs={}}]', "1979-05-27", "07:32:00",
    "1\nb = 2", "1\n[b]", "'''", "off", "words", "both", "hybrid", "0110", "rqvae", "naive",
    "{own={}}", "{own=1}",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES)).map("=".join)
        | st.text(max_size=30)
        | st.tuples(st.sampled_from(KEYS), st.text(max_size=20)).map("=".join),
        min_size=1,
        max_size=4,
    )
)
def test_whatever_is_set_ends_in_a_recipe_that_can_be_written_or_in_one_sentence(changes):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rars.baselines, "SYSTEMS", TOYS, raising=False)
        try:
            found = resolved("rars", *changes)
        except RarsError:
            return
        again = Recipe.of(tomllib.loads(found.to_toml()))
    assert again.to_toml() == found.to_toml()
    assert again == found or not found.generative


# -- parts and their own settings ------------------------------------------------------------------


def test_fit_is_a_switch_or_a_table():
    assert resolved("rars").identifiers.fit is None
    assert resolved("rars", "identifiers.fit=true").identifiers.fit == FitSettings()
    assert resolved("practical").identifiers.fit == FitSettings()
    assert resolved("practical", "identifiers.fit=false").identifiers.fit is None
    changed = resolved("practical", "identifiers.fit.epochs=3").identifiers.fit
    assert changed == FitSettings(epochs=3)


def test_tables_of_parts_that_were_not_chosen_are_dropped(written):
    text = "[identifiers]\nlearner = 'residual-kmeans'\n[identifiers.rqvae]\nhidden = [8]\n"
    found = resolved(written("two", text))
    assert "rqvae" not in tomllib.loads(found.to_toml())["identifiers"]
    chosen = resolved(written("two", text), "identifiers.learner=rqvae")
    assert chosen.identifiers.own.hidden == (8,)
    assert tomllib.loads(chosen.to_toml())["identifiers"]["rqvae"]["hidden"] == [8]
    assert "residual-kmeans" not in tomllib.loads(chosen.to_toml())["identifiers"]


def test_a_learner_brings_its_own_sizes_unless_they_are_given():
    learner = "identifiers.learner=hierarchical-kmeans"
    assert resolved("rars", learner).identifiers.sizes == (20, 20, 20)
    assert resolved("rars", learner, "identifiers.sizes=[3, 4]").identifiers.sizes == (3, 4)
    assert "takes no sizes" in refusal("identifiers.learner=naive", "identifiers.sizes=[3]")
    assert resolved("rars", "identifiers.learner=naive").identifiers.sizes == ()


def test_a_system_without_identifiers_writes_what_concerns_it_alone(toys, written):
    path = written("words", "name = 'mine'\nsystem = 'words'\n[words]\nk1 = 2.0\n")
    found = resolved(path, "training.seed=3", size="tiny")
    assert not found.generative
    table = tomllib.loads(found.to_toml())
    assert table == {
        "name": "mine",
        "about": "",
        "system": "words",
        "training": {"seed": 3},
        "words": {"k1": 2.0},
    }
    read = Recipe.of(table)
    assert read.to_toml() == found.to_toml()
    assert read.own == found.own == {"words": Words(k1=2.0)}


def test_a_system_made_of_others_has_their_settings_and_no_more(toys, written):
    both = written("both", "system = 'both'\n[words]\nk1 = 2.0\n")
    assert resolved(both).own == {"both": NoSettings(), "words": Words(k1=2.0)}
    words = written("words", "system = 'words'\n[both]\nanything = 1\n")
    assert resolved(words).own == {"words": Words()}
    assert refusal("words.k2=3", name=both) == f"Recipe {both}: there is no setting 'words.k2'."
    said = refusal("words.k1=3", name="rars")
    assert said == "Recipe rars: there is no setting 'words'."


# -- resolved recipes ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", recipe_names())
def test_a_resolved_recipe_reads_back_equal_and_no_size_changes_it(name, tmp_path):
    for size, protocol in product((None, *SIZES), (None, *PROTOCOLS)):
        found = Recipe.resolve(name, size=size, protocol=protocol)
        path = tmp_path / "resolved.toml"
        path.write_text(found.to_toml(), encoding="utf-8")
        assert Recipe.read(path).to_toml() == found.to_toml()
        if found.generative:
            assert Recipe.read(path) == found
        for other in SIZES:
            assert Recipe.resolve(path, size=other).to_toml() == found.to_toml()


def test_a_setting_without_a_value_stays_so_at_every_size(tmp_path):
    found = resolved("practical", "identifiers.fit=false", size="tiny")
    path = tmp_path / "resolved.toml"
    path.write_text(found.to_toml(), encoding="utf-8")
    assert Recipe.resolve(path, size="paper").identifiers.fit is None


CHOICES = ("learner", "aligned_codes", "dropout", "prior", "embedder", "terms", "rule")


def keys_of(table):
    for key, value in table.items():
        yield key
        if isinstance(value, dict):
            yield from keys_of(value)


@pytest.mark.parametrize("size", SIZES)
def test_a_size_only_scales(size):
    table = tomllib.loads((RECIPES / "sizes" / f"{size}.toml").read_text(encoding="utf-8"))
    assert not set(keys_of(table)) & set(CHOICES)


@pytest.mark.parametrize("name", GENERATIVE)
def test_a_recipe_is_the_same_system_at_every_size(name):
    def choices(size):
        found = Recipe.resolve(name, size=size)
        model = found.model
        return (
            *(found.identifiers.learner, found.identifiers.embedder, found.search.rule),
            *(model.aligned_codes, model.dropout, model.prior, model.normaliser, model.categories),
            *((one.name, one.term, one.weight) for one in found.objective.terms),
        )

    assert choices("tiny") == choices("small") == choices("paper")


@pytest.mark.parametrize("name", recipe_names())
def test_every_bundled_recipe_says_what_it_is(name):
    table = tomllib.loads((RECIPES / f"{name}.toml").read_text(encoding="utf-8"))
    assert table["name"] == name
    assert table["about"]


# -- phases ----------------------------------------------------------------------------------------

PHASES = """
extends = "rars"

[training]
epochs = 9
learning_rate = 0.01

[training.pseudo]
share = 2.0
weight = 0.5

[[training.phases]]
name = "first"
epochs = 2

[[training.phases]]
name = "second"
keep = "best"

[training.phases.pseudo]
share = 0.0

[[training.phases.terms]]
term = "grouped"
"""


def test_a_phase_has_what_training_says_unless_it_says_otherwise(written):
    found = resolved(written("phases", PHASES))
    first, second = found.phases
    assert [one.name for one in found.phases] == ["first", "second"]
    assert (first.loop.epochs, second.loop.epochs) == (2, 9)
    assert (first.loop.keep, second.loop.keep) == ("final", "best")
    assert first.loop.learning_rate == second.loop.learning_rate == 0.01
    assert first.loop.pseudo.share == 2.0
    assert (second.loop.pseudo.share, second.loop.pseudo.weight) == (0.0, 0.5)
    assert first.terms == found.objective.terms
    assert [one.term for one in second.terms] == ["grouped"]
    assert not first.fresh
    assert not second.fresh


def test_phases_are_changed_by_name_and_read_back_equal(written):
    path = written("phases", PHASES)
    found = resolved(path, "training.phases.second.start=fresh", "training.phases.first.epochs=5")
    assert [one.fresh for one in found.phases] == [False, True]
    assert found.phases[0].loop.epochs == 5
    again = Recipe.of(tomllib.loads(found.to_toml()))
    assert again == found
    assert again.phases == found.phases


def test_without_phases_there_is_one():
    found = resolved("rars")
    (only,) = found.phases
    assert only.terms == found.objective.terms
    assert only.loop == found.training


def test_phases_that_cannot_be_are_refused(written):
    path = written("phases", PHASES)
    assert "two phases have the same name" in refusal(
        "training.phases.second.name=first", name=path
    )
    said = refusal("training.phases.first.start=previous", name=path)
    assert "the first phase has none before it" in said
    assert "training.phases.third" in refusal("training.phases.third.epochs=1", name=path)
    said = refusal(
        'training.phases.second.terms=[{term="category-class"}]', "model.categories=off", name=path
    )
    assert "needs model.categories" in said


# -- laying tables over one another ----------------------------------------------------------------

TABLES = st.recursive(
    st.integers() | st.booleans(),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(*[st.dictionaries(st.sampled_from("abc"), TABLES, max_size=3)] * 2)
def test_merged_holds_all_of_the_later_and_what_it_leaves_of_the_earlier(base, over):
    def check(found, before, after):
        for key in {*before, *after}:
            if isinstance(before.get(key), dict) and isinstance(after.get(key), dict):
                check(found[key], before[key], after[key])
            else:
                assert found[key] == (after if key in after else before)[key]
        assert set(found) == {*before, *after}

    check(merged(base, over), base, over)
    assert merged(base, {}) == base
    assert merged(merged(base, over), over) == merged(base, over)


def test_a_protocol_leaves_alone_what_a_recipe_keeps(tmp_path):
    """The paper's protocol says which learner the controlled rows use; DSI's digits are DSI itself."""
    digits = Recipe.resolve("dsi-naive", protocol="paper")
    assert (digits.identifiers.learner, digits.identifiers.sizes) == ("naive", ())
    assert digits.identifiers.embedder == "t5:t5-base", "the rest of the protocol holds"
    assert Recipe.resolve("tiger", protocol="faithful").identifiers.sizes == (256, 256, 256)
    chosen = ["identifiers.learner=rqvae", "identifiers.sizes=[8]"]
    assert Recipe.resolve("dsi-naive", changes=chosen).identifiers.sizes == (8,), "--set wins"
    (tmp_path / "bad.toml").write_text('keeps = "identifiers"\n')
    with pytest.raises(RarsError, match=r"bad\.toml: keeps: 'identifiers' is no list of settings"):
        Recipe.resolve(tmp_path / "bad.toml")
