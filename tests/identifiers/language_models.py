"""Language models on disk that cost nothing: random, two layers, a few words."""

from __future__ import annotations

from pathlib import Path

import torch


def language_model(folder: Path, text: str, kind: str = "causal") -> Path:
    """Save a model that knows the words of a text, ``causal``, ``t5`` or ``untied``; its folder.

    ``untied`` is a T5 whose words are said by another table than they are read by, as in later ones.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import (
        PreTrainedTokenizerFast,
        Qwen3Config,
        Qwen3ForCausalLM,
        T5Config,
        T5ForConditionalGeneration,
    )

    known = ["<pad>", "</s>", "<unk>", *sorted(set(text.split()))]
    words = Tokenizer(models.WordLevel({word: n for n, word in enumerate(known)}, "<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    torch.manual_seed(0)
    if kind in ("t5", "untied"):
        model = T5ForConditionalGeneration(
            T5Config(
                vocab_size=len(known),
                d_model=16,
                d_kv=8,
                d_ff=32,
                num_layers=2,
                num_heads=2,
                decoder_start_token_id=0,
                dropout_rate=0.0,
                tie_word_embeddings=kind == "t5",
            )
        )
        if kind == "untied":
            model.lm_head.weight = torch.nn.Parameter(torch.randn(len(known), 16))
    else:
        model = Qwen3ForCausalLM(
            Qwen3Config(
                vocab_size=len(known),
                hidden_size=16,
                intermediate_size=32,
                num_hidden_layers=2,
                num_attention_heads=2,
                num_key_value_heads=2,
                head_dim=8,
                max_position_embeddings=64,
                eos_token_id=1,
                pad_token_id=0,
                bos_token_id=None,
            )
        )
    model.save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder)
    return folder
