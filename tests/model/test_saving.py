"""Checkpoints load by folder, train, save and reload to the same logits, in files other tools can open."""

from __future__ import annotations

import json

import numpy as np
import pytest
import safetensors.torch
import torch
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from rars.checkpoints import located
from rars.config import ModelSettings, TrainingSettings
from rars.errors import RarsError
from rars.model import saving
from rars.model.tokenizer import pretrained_tokenizer, train_tokenizer
from rars.training import loop
from rars.training.packing import pack
from rars.training.sampler import QueryRange
from tests.model.small import Example, family_model, terms


def plan_of(data, settings, folder):
    return loop.Plan(data, (QueryRange(0, len(data)),), settings, settings, folder, "test")


WORDS = ["red mug", "blue kettle", "マグカップ 赤", "taza roja"] * 3


def checkpoint(folder, family):
    """A small random checkpoint with a tokenizer, as transformers saves one."""
    inner = train_tokenizer(WORDS, 300, 16).inner
    if family == "bert":
        model = BertModel(
            BertConfig(
                vocab_size=inner.get_vocab_size(),
                hidden_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=32,
            )
        )
    else:
        model = family_model(family, vocab_size=inner.get_vocab_size())
    model.save_pretrained(folder)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="</s>")
    tokenizer.save_pretrained(folder)
    return model


def built(folder, kind, **settings):
    example = Example()
    tokenizer = pretrained_tokenizer(str(folder), 16)
    example.tokens = tokenizer.encode(["red mug", "taza", "マグ", "☕", "", "blue", "kettle red"])
    ready = saving.build(
        ModelSettings(backbone=f"{kind}:{folder}", **settings),
        example.vocabulary,
        tokenizer,
        categories=example.categories,
    )
    return example, ready


@pytest.mark.parametrize(
    ("family", "kind"), [("t5", "t5"), ("mt5", "t5"), ("umt5", "t5"), ("bert", "encoder")]
)
def test_a_checkpoint_trains_saves_and_reloads_to_identical_logits(family, kind, tmp_path):
    checkpoint(tmp_path / "checkpoint", family)
    example, ready = built(tmp_path / "checkpoint", kind)
    model = loop.TrainingModel(ready.model, terms("full-sid", "tree", rank=4))
    plan = plan_of(example.data(), TrainingSettings(epochs=2, pairs=20), tmp_path)
    loop.train(model, plan)

    (tmp_path / "saved").mkdir()
    saving.save(ready, tmp_path / "saved")
    again = saving.load(tmp_path / "saved")
    batch = pack(example.data(), np.arange(7))
    ready.model.eval()
    for one, other in zip(ready.model(batch).logits, again.model(batch).logits, strict=True):
        torch.testing.assert_close(one, other, atol=0, rtol=0)
    assert [a.tolist() for a in again.tokenizer.encode(WORDS)] == [
        a.tolist() for a in ready.tokenizer.encode(WORDS)
    ]


def test_the_files_are_what_other_tools_read(tmp_path):
    checkpoint(tmp_path / "checkpoint", "t5")
    _, ready = built(tmp_path / "checkpoint", "t5")
    saving.save(ready, tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == "rars-retriever"
    assert Tokenizer.from_file(str(tmp_path / "tokenizer.json")).encode("mug").ids
    names = set(safetensors.torch.load_file(tmp_path / "model.safetensors"))
    assert "code_outputs.0.weight" in names
    assert not any("head." in name and "heads" not in name for name in names), "no tree head"


def test_pretrained_weights_are_really_used(tmp_path):
    source = checkpoint(tmp_path / "checkpoint", "t5")
    _, ready = built(tmp_path / "checkpoint", "t5")
    theirs = source.encoder.block[0].layer[0].SelfAttention.q.weight
    torch.testing.assert_close(
        ready.model.encoder.stack.block[0].layer[0].SelfAttention.q.weight, theirs
    )
    torch.testing.assert_close(ready.model.start, source.shared.weight[0])


def test_a_shallow_decoder_of_a_checkpoint_reloads(tmp_path):
    checkpoint(tmp_path / "checkpoint", "t5")
    _, ready = built(tmp_path / "checkpoint", "t5", decoder_layers=1)
    saving.save(ready, tmp_path)
    assert len(saving.load(tmp_path).model.decoder.blocks) == 1


def test_a_frozen_encoder_does_not_move(tmp_path):
    checkpoint(tmp_path / "checkpoint", "bert")
    example, ready = built(tmp_path / "checkpoint", "encoder", freeze_encoder=True)
    before = {n: p.clone() for n, p in ready.model.encoder.stack.named_parameters()}
    model = loop.TrainingModel(ready.model, terms("full-sid"))
    plan = plan_of(example.data(), TrainingSettings(epochs=1, pairs=20), tmp_path)
    loop.train(model, plan)
    for name, value in ready.model.encoder.stack.named_parameters():
        torch.testing.assert_close(value, before[name], atol=0, rtol=0)


def test_the_text_vocabulary_keeps_its_size(tmp_path):
    # Peers resize the text embeddings for identifier tokens and can shrink them.
    source = checkpoint(tmp_path / "checkpoint", "t5")
    _, ready = built(tmp_path / "checkpoint", "t5")
    assert ready.model.encoder.stack.embed_tokens.weight.shape == source.shared.weight.shape


@pytest.mark.parametrize(
    ("name", "words"),
    [("nowhere/at/all", "cannot be loaded"), ("package:no_such_package", "is not installed")],
)
def test_a_checkpoint_that_cannot_be_had_is_one_sentence(name, words, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    example = Example()
    tokenizer = train_tokenizer(WORDS, 300, 16)
    with pytest.raises(RarsError, match=words):
        saving.build(ModelSettings(backbone=f"t5:{name}"), example.vocabulary, tokenizer)


def test_an_installed_package_can_hold_the_model(tmp_path, monkeypatch):
    (tmp_path / "my_model" / "model").mkdir(parents=True)
    (tmp_path / "my_model" / "__init__.py").touch()
    (tmp_path / "my_model-1.0.dist-info").mkdir()
    (tmp_path / "my_model-1.0.dist-info" / "top_level.txt").write_text("my_model\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert located("package:my_model") == str(tmp_path / "my_model" / "model")


def test_weights_of_another_model_are_refused(tmp_path):
    checkpoint(tmp_path / "checkpoint", "t5")
    _, ready = built(tmp_path / "checkpoint", "t5")
    saving.save(ready, tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(RarsError, match=r"model\.safetensors does not fit"):
        saving.load(tmp_path)


@pytest.mark.parametrize("change", [{"prior_form": None}, {"unheard_of": 1}])
def test_a_model_of_another_version_is_one_sentence(tmp_path, change):
    checkpoint(tmp_path / "checkpoint", "t5")
    _, ready = built(tmp_path / "checkpoint", "t5")
    saving.save(ready, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text()) | change
    config = {key: value for key, value in config.items() if value is not None}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(RarsError, match=r"config\.json is of another version of rars"):
        saving.load(tmp_path)


def test_a_prior_over_identifiers_needs_sibling_competition():
    with pytest.raises(ValueError, match="needs normaliser 'children'"):
        ModelSettings(prior="identifiers")


def test_codebooks_without_content_leave_the_tables_as_they_were():
    """A small catalogue is spelled out by its first codes: the later codebooks are all zeros."""
    example = Example(latent=False)
    words = [np.zeros((size, 6), dtype=np.float32) for size in example.vocabulary.sizes]
    words[0] = np.random.default_rng(0).normal(size=words[0].shape).astype(np.float32)
    ready = saving.build(
        ModelSettings(aligned_codes=True, vector_tokens=0),
        example.vocabulary,
        train_tokenizer(WORDS, 300, 16),
        codewords=words,
    )
    for name, weight in ready.model.named_parameters():
        assert weight.isfinite().all(), name
    assert all(float(table.weight.detach().std()) > 0 for table in ready.model.code_outputs)
