"""A sentence-transformers model on disk that costs nothing: random, one layer, a few words."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch


def sentence_model(folder: Path, text: str) -> Path:
    """Save a model that knows the words of a text; its folder."""
    library = pytest.importorskip("sentence_transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    known = ["[PAD]", "[UNK]", *sorted(set(text.split()))]
    words = Tokenizer(models.WordLevel({word: n for n, word in enumerate(known)}, "[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(known),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
    )
    BertModel(config).save_pretrained(folder / "bert")
    PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]", model_max_length=32
    ).save_pretrained(folder / "bert")
    library.SentenceTransformer(str(folder / "bert"), device="cpu").save_pretrained(
        str(folder / "model"), create_model_card=False
    )
    return folder / "model"
