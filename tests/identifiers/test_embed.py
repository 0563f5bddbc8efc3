from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import safetensors.numpy
import torch

from rars.errors import RarsError
from rars.identifiers import embed, embedders
from rars.identifiers.embed import cached_vectors, item_vectors, keep_vectors, vectors_by_name
from rars.identifiers.embedders import open_embedder, shared_embedder
from rars.identifiers.texts import digest_texts, item_texts, joined
from rars.places import cache_folder
from rars.scale import AS_NEEDED, INLINE
from rars.scale.local import Local

from .worlds import shop


class Counting:
    """Lengths and first letters as a vector, and a record of what was asked."""

    dim = 2
    digest = "counting"

    def __init__(self):
        self.asked: list[str] = []

    def embed(self, texts):
        self.asked.extend(texts)
        return np.array([[len(t), ord(t[0])] for t in texts], dtype=np.float32)


def chunked(*texts: str) -> pa.ChunkedArray:
    return pa.chunked_array([list(texts)], pa.string())


def test_item_texts_join_the_fields_and_skip_what_is_missing(tmp_path):
    dataset = shop(
        tmp_path / "d",
        ["Mug", "Pen", "青いマグ"],
        text=["A mug.", None, ""],
        brand=["Acme", "", None],
        color=[None, "blue", None],
    )
    assert item_texts(dataset).to_pylist() == ["Mug A mug. Acme", "Pen blue", "青いマグ"]


def test_texts_of_new_items_need_not_have_every_column():
    assert joined(pa.table({"title": ["Mug"]})).to_pylist() == ["Mug"]


def test_the_digest_of_texts_sees_boundaries_but_not_chunks():
    assert digest_texts(chunked("ab", "c")) != digest_texts(chunked("a", "bc"))
    assert digest_texts(chunked("ab", "")) != digest_texts(chunked("ab"))
    pieces = pa.chunked_array([["ab"], [], ["c"]], pa.string())
    assert digest_texts(pieces) == digest_texts(chunked("ab", "c"))


def test_the_cache_answers_the_same_texts_and_nothing_else(tmp_path):
    embedder = Counting()
    first = cached_vectors(chunked("mug", "pens"), embedder, cache=tmp_path)
    assert np.array_equal(first, [[3, ord("m")], [4, ord("p")]])
    assert isinstance(first, np.memmap)
    assert first.dtype == np.float32
    again = cached_vectors(chunked("mug", "pens"), embedder, cache=tmp_path)
    assert embedder.asked == ["mug", "pens"]
    assert np.array_equal(again, first)
    changed = cached_vectors(chunked("mugs", "pens"), embedder, cache=tmp_path)
    assert changed[0, 0] == 4
    embedder.digest = "another model"
    cached_vectors(chunked("mug", "pens"), embedder, cache=tmp_path)
    assert embedder.asked == ["mug", "pens", "mugs", "pens", "mug", "pens"]


def test_a_failure_in_the_middle_leaves_no_entry(tmp_path):
    class Failing(Counting):
        def embed(self, texts):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached_vectors(chunked("mug"), Failing(), cache=tmp_path)
    assert not list(tmp_path.rglob("*"))
    assert cached_vectors(chunked("mug"), Counting(), cache=tmp_path)[0, 0] == 3


def test_a_damaged_entry_is_computed_again(tmp_path):
    cached_vectors(chunked("mug"), Counting(), cache=tmp_path)
    (file,) = (tmp_path / "embeddings").glob("*/vectors.npy")
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    embedder = Counting()
    assert cached_vectors(chunked("mug"), embedder, cache=tmp_path)[0, 0] == 3
    assert embedder.asked == ["mug"]


def test_progress_counts_texts(tmp_path):
    seen: list[tuple[int, int]] = []
    texts = chunked(*(f"item {i}" for i in range(2500)))
    cached_vectors(texts, Counting(), cache=tmp_path, advance=lambda *at: seen.append(at))
    assert seen == [(1024, 2500), (2048, 2500), (2500, 2500)]


def test_a_kill_costs_the_shard_in_hand(tmp_path):
    class Failing(Counting):
        def embed(self, texts):
            if len(self.asked) >= 2048:
                raise KeyboardInterrupt
            return super().embed(texts)

    texts = chunked(*(f"item {i}" for i in range(2500)))
    with pytest.raises(KeyboardInterrupt):
        cached_vectors(texts, Failing(), cache=tmp_path)
    again = Counting()
    found = cached_vectors(texts, again, cache=tmp_path)
    assert again.asked == texts.to_pylist()[2048:]
    np.testing.assert_array_equal(found, Counting().embed(texts.to_pylist()))
    assert [one.name for one in (tmp_path / "embeddings").iterdir()] == [
        Path(found.filename).parent.name
    ]


def test_other_processes_give_the_same_vectors(tmp_path, monkeypatch):
    monkeypatch.setattr(embed, "_FEWEST", 20)
    texts = chunked(*(f"mug number {i} of many" for i in range(50)))
    embedder = open_embedder("use")
    one = cached_vectors(texts, embedder, cache=tmp_path / "one")
    two, opened = vectors_by_name(texts, "use", cache=tmp_path / "two", engine=Local(2))
    np.testing.assert_array_equal(one, two)
    assert opened.digest == embedder.digest


@pytest.mark.parametrize(("device", "expected"), [("cpu", AS_NEEDED), ("cuda", INLINE)])
def test_a_gpu_is_one_whoever_asks(tmp_path, monkeypatch, device, expected):
    monkeypatch.setattr(embed, "open_embedder", lambda name, device: Counting())
    engines = []
    monkeypatch.setattr(embed, "cached_vectors", lambda *_, engine, **__: engines.append(engine))
    vectors_by_name(chunked("mug"), "use", cache=tmp_path, device=device)
    vectors_by_name(chunked("mug"), "use", cache=tmp_path, device=device, engine=Local(2))
    assert engines == [expected, Local(2)]


@pytest.mark.parametrize("count", [3, 2500])
def test_an_embedder_has_one_thread_however_many_texts_there_are(tmp_path, count):
    """Who has two would give other last bits on some processors."""

    class Watched(Counting):
        def embed(self, texts):
            seen.add(torch.get_num_threads())
            return super().embed(texts)

    seen: set[int] = set()
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        cached_vectors(chunked(*(f"item {i}" for i in range(count))), Watched(), cache=tmp_path)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == {1}


def test_the_cache_folder_can_be_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("RARS_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("RARS_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == Path.home() / ".cache" / "rars"


@pytest.mark.parametrize("name", ["bert", "t5:", "use:large", "", "sentence-transformers"])
def test_an_unknown_embedder_names_the_choices(name):
    with pytest.raises(RarsError, match="choose use"):
        open_embedder(name)


def test_ready_vectors_cannot_embed_queries():
    with pytest.raises(RarsError, match="ready vectors"):
        open_embedder("file:v.npy")


def test_an_embedder_is_opened_once_a_process_and_another_digest_is_refused(monkeypatch):
    monkeypatch.setattr(embedders, "_opened", {})
    opened = []
    kind = embedders.EmbedderKind(
        about="", open=lambda source, device: opened.append((source, device)) or Counting()
    )
    monkeypatch.setitem(embedders.EMBEDDERS, "counting", kind)
    assert shared_embedder("counting") is shared_embedder("counting", "counting")
    assert opened == [("", "cpu")]
    assert shared_embedder("counting", device="meta") is not shared_embedder("counting")
    assert opened == [("", "cpu"), ("", "meta")]
    with pytest.raises(RarsError, match="not the one that the identifiers were made with"):
        shared_embedder("counting", "another")
    assert len(opened) == 2


def test_a_missing_extra_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(RarsError, match=r"rars\[dense\]"):
        open_embedder("sentence-transformers:any")


def test_a_missing_checkpoint_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(RarsError, match="cannot be loaded"):
        open_embedder(f"t5:{tmp_path / 'nothing'}")


# --- vectors from a file -------------------------------------------------------------------------


@pytest.fixture
def three(tmp_path):
    return shop(tmp_path / "d", ["a", "b", "c"])


def test_rows_of_a_file_are_matched_by_id(three, tmp_path):
    rows = np.array([[2.0, 0], [0, 0], [1, 0]], dtype=np.float64)
    np.save(tmp_path / "v.npy", rows)
    (tmp_path / "v.ids.txt").write_text("i2\ni0\ni1\n")
    vectors, digest = item_vectors(three, f"file:{tmp_path / 'v.npy'}")
    assert vectors[:, 0].tolist() == [0, 1, 2]
    assert vectors.dtype == np.float32
    assert digest
    safetensors.numpy.save_file({"vectors": rows}, tmp_path / "w.safetensors")
    (tmp_path / "w.ids.json").write_text(json.dumps(["i2", "i0", "i1"]))
    same, _ = item_vectors(three, f"file:{tmp_path / 'w.safetensors'}")
    assert np.array_equal(same, vectors)


def test_rows_already_in_catalogue_order_stay_on_disk(three, tmp_path):
    np.save(tmp_path / "v.npy", np.eye(3, dtype=np.float32))
    (tmp_path / "v.ids.txt").write_text("i0\ni1\ni2")
    assert isinstance(item_vectors(three, f"file:{tmp_path / 'v.npy'}")[0], np.memmap)


@pytest.fixture
def counted(monkeypatch):
    """An embedder that can be asked for by name."""
    made = Counting()
    kind = embedders.EmbedderKind("counts", lambda source, device: made)
    monkeypatch.setitem(embedders.EMBEDDERS, "counting", kind)
    return made


def ready(path, rows, ids="i2\ni0\ni1\n"):
    np.save(path / "v.npy", np.array(rows))
    (path / "v.ids.txt").write_text(ids)
    return path / "v.npy"


def test_ready_vectors_become_those_of_an_embedder(three, tmp_path, counted):
    """Later nothing but queries and new items is embedded."""
    file = ready(tmp_path, np.array([[1, 99], [1, 97], [1, 98]], dtype=np.float16))
    kept = keep_vectors(three, "counting", file, cache=tmp_path / "cache")
    assert kept.tolist() == [[1, 97], [1, 98], [1, 99]]
    counted.asked.clear()
    found, digest = item_vectors(three, "counting", cache=tmp_path / "cache")
    assert found.tolist() == kept.tolist()
    assert (found.dtype, digest) == (np.float32, "counting")
    assert not counted.asked


def test_vectors_of_another_model_are_refused_unless_trusted(three, tmp_path, counted):
    file = ready(tmp_path, np.array([[1.0, 99], [1, 97], [98, 1]]))
    with pytest.raises(RarsError, match=r"vector of item 'i1' is not the one that counting gives"):
        keep_vectors(three, "counting", file, cache=tmp_path / "cache")
    assert not list((tmp_path / "cache").glob("*/*"))
    kept = keep_vectors(three, "counting", file, cache=tmp_path / "cache", trust=True)
    assert kept[1].tolist() == [98, 1]


@pytest.mark.parametrize("name", ["counting", "file:x.npy"])
def test_vectors_that_cannot_be_an_embedders_are_refused(three, tmp_path, counted, name):
    file = ready(tmp_path, np.ones((3, 5)))
    with pytest.raises(RarsError, match=r"5 numbers; counting has 2|reads no texts"):
        keep_vectors(three, name, file, cache=tmp_path / "cache", trust=True)


@pytest.mark.parametrize(
    ("ids", "rows", "message"),
    [
        ("i0\ni1", 2, "lacks the item 'i2'"),
        ("i0\ni1\ni1", 3, "'i1' more than once"),
        ("i0\ni1\ni2\nother", 4, "'other', which the catalogue does not have"),
        ("i0\ni1\ni2", 4, "names 3 ids, but .* has 4 rows"),
        (None, 3, "needs its ids beside it"),
    ],
)
def test_ids_that_do_not_fit_are_named(three, tmp_path, ids, rows, message):
    np.save(tmp_path / "v.npy", np.ones((rows, 2), dtype=np.float32))
    if ids is not None:
        (tmp_path / "v.ids.txt").write_text(ids)
    with pytest.raises(RarsError, match=message):
        item_vectors(three, f"file:{tmp_path / 'v.npy'}")


def test_numbers_that_are_no_vectors_are_refused(three, tmp_path):
    (tmp_path / "v.ids.txt").write_text("i0\ni1\ni2")
    file = tmp_path / "v.npy"
    for rows, message in (
        (np.ones(3, dtype=np.float32), "one row"),
        (np.ones((3, 2), dtype=np.int64), "floating-point"),
        (np.array([[1.0], [np.nan], [1.0]]), "not finite in row 1"),
    ):
        np.save(file, rows)
        with pytest.raises(RarsError, match=message):
            item_vectors(three, f"file:{file}")
    np.save(file, np.array([{"a": 1}] * 3, dtype=object), allow_pickle=True)
    with pytest.raises(RarsError, match="not a readable"):
        item_vectors(three, f"file:{file}")
    with pytest.raises(RarsError, match="not a readable"):
        item_vectors(three, f"file:{tmp_path / 'absent.npy'}")
    with pytest.raises(RarsError, match=r"\.npy or \.safetensors"):
        item_vectors(three, f"file:{tmp_path / 'd' / 'items.parquet'}")


# --- a T5 encoder --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny_t5(tmp_path_factory):
    """A random two-layer T5 with a word-level tokenizer, saved the way transformers saves one."""
    import tokenizers
    import torch
    import transformers

    folder = tmp_path_factory.mktemp("t5")
    words = ["<pad>", "</s>", "<unk>", "red", "blue", "mug", "pen", "for", "tea", "desk"]
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=len(words), d_model=16, d_kv=4, d_ff=32, num_layers=2, num_heads=4
    )
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder


def test_t5_vectors_are_the_mean_of_the_encoders_last_states(tiny_t5):
    import torch
    import transformers

    embedder = open_embedder(f"t5:{tiny_t5}")
    texts = ["red mug", "blue pen for desk tea mug", "", "tea " * 700]
    vectors = embedder.embed(texts)
    assert vectors.shape == (4, embedder.dim)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_t5)
    encoder = transformers.T5EncoderModel.from_pretrained(tiny_t5).eval()
    for text, vector in zip(texts, vectors, strict=True):
        ids = tokenizer(text, truncation=True, max_length=512, return_tensors="pt").input_ids
        with torch.no_grad():
            states = encoder(input_ids=ids).last_hidden_state[0]
        assert np.allclose(vector, states.mean(0).numpy(), atol=1e-5)


def test_a_checkpoint_may_lie_in_an_installed_package(tiny_t5, tmp_path, monkeypatch):
    import shutil

    shutil.copytree(tiny_t5, tmp_path / "boxed" / "model")
    (tmp_path / "boxed" / "__init__.py").write_text("raise SystemError('must not be run')")
    (tmp_path / "boxed-1.0.dist-info").mkdir()
    (tmp_path / "boxed-1.0.dist-info" / "RECORD").write_text("boxed/__init__.py,,\n")
    monkeypatch.syspath_prepend(tmp_path)
    boxed = open_embedder("t5:package:boxed")
    plain = open_embedder(f"t5:{tiny_t5}")
    assert boxed.digest == plain.digest
    assert np.array_equal(boxed.embed(["red mug"]), plain.embed(["red mug"]))
    with pytest.raises(RarsError, match="'nothing_there', which should hold a model"):
        open_embedder("t5:package:nothing_there")


def test_a_t5_with_other_weights_has_another_digest(tiny_t5, tmp_path):
    import shutil

    import torch
    import transformers

    before = open_embedder(f"t5:{tiny_t5}").digest
    assert open_embedder(f"t5:{tiny_t5}").digest == before
    shutil.copytree(tiny_t5, tmp_path / "t5")
    model = transformers.T5ForConditionalGeneration.from_pretrained(tmp_path / "t5")
    with torch.no_grad():
        model.shared.weight[3] += 1
    model.save_pretrained(tmp_path / "t5")
    assert open_embedder(f"t5:{tmp_path / 't5'}").digest != before


def test_a_hub_model_is_named_by_its_weights():
    import torch

    from rars.identifiers.pretrained import weights_digest

    model = torch.nn.Linear(2, 2)
    before = weights_digest("hub/name", model)
    assert weights_digest("hub/name", model) == before
    with torch.no_grad():
        model.bias[0] += 1
    assert weights_digest("hub/name", model) != before


def test_a_sentence_transformers_model_is_used_as_it_defines_itself(tiny_t5):
    library = pytest.importorskip("sentence_transformers")
    model = library.SentenceTransformer(str(tiny_t5), device="cpu")
    embedder = open_embedder(f"sentence-transformers:{tiny_t5}")
    texts = ["red mug", "blue pen for desk"]
    assert np.allclose(embedder.embed(texts), model.encode(texts), atol=1e-5)
    assert embedder.embed([]).shape == (0, embedder.dim)
    assert embedder.digest != open_embedder(f"t5:{tiny_t5}").digest


def test_a_checkpoint_of_another_kind_is_refused(tmp_path):
    import transformers

    transformers.BertConfig().save_pretrained(tmp_path)
    with pytest.raises(RarsError, match="bert model, not T5"):
        open_embedder(f"t5:{tmp_path}")
