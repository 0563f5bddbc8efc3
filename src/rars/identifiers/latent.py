"""A language model that thinks a few steps before it says what a text is about (LaSER's latent view).

Owns: the latent steps of a causal model or of a T5 decoder, reading a rationale instead of them (the explicit
view), and such a model as an embedder. Ignores how it is trained (``latent_tuning``).

A text is read to its end token, whose last state is h_1. Each further step reads the embedding that the model
expects next, e_k = sum over words v of softmax(logits(h_k))_v E_v, and its last state is h_(k+1). A text's
vector is the mean of h_1 ... h_K, scaled to length one. A T5 reads the text by its encoder; its decoder's
first state is h_1.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rars import disk
from rars.arrays import Ints, Points, padded
from rars.checkpoints import UNREADABLE, located, quiet, refuse_kernel
from rars.errors import RarsError
from rars.identifiers.pretrained import unreachable, weights_digest
from rars.scale.shards import spans
from rars.scale.threads import on_free_cores

KIND = "latent"
PREFIX = f"{KIND}:"
STEPS, MAX_TOKENS = 3, 512
FILE = "latent.json"

_TEXTS = 32
"""Texts that an embedder reads at once."""


class LatentModel(nn.Module):
    """A model of the library transformers with its tokenizer, and how many steps it takes."""

    def __init__(
        self, model: Any, tokenizer: Any, *, steps: int = STEPS, max_tokens: int = MAX_TOKENS
    ) -> None:
        super().__init__()
        self.model, self.tokenizer = model, tokenizer
        self.steps, self.max_tokens = steps, max_tokens
        self.two_stacks = bool(model.config.is_encoder_decoder)
        self.end = _end_token(model, tokenizer)

    @classmethod
    def open(
        cls,
        source: str,
        device: str = "cpu",
        *,
        steps: int | None = None,
        max_tokens: int | None = None,
    ) -> LatentModel:
        """By hub name, folder or package; a folder written by ``save`` says how many steps it takes."""
        import transformers

        place = located(source)
        quiet(place)
        known = _kept(Path(place))
        try:
            config = transformers.AutoConfig.from_pretrained(place, trust_remote_code=False)
            refuse_kernel(source, config)
            kind = "Seq2SeqLM" if config.is_encoder_decoder else "CausalLM"
            opened = getattr(transformers, f"AutoModelFor{kind}")
            tokenizer = transformers.AutoTokenizer.from_pretrained(place, trust_remote_code=False)
            model = opened.from_pretrained(place, config=config, trust_remote_code=False)
        except UNREADABLE as error:
            raise unreachable(KIND, source, error) from error
        return cls(
            model.to(device),
            tokenizer,
            steps=steps or known.get("steps", STEPS),
            max_tokens=max_tokens or known.get("max_tokens", MAX_TOKENS),
        )

    @property
    def width(self) -> int:
        """Width of the states."""
        return int(self.model.get_input_embeddings().weight.shape[1])

    def save(self, folder: Path) -> None:
        """Write a folder that ``open`` reads."""
        self.model.save_pretrained(str(folder))
        self.tokenizer.save_pretrained(str(folder))
        known = {"steps": self.steps, "max_tokens": self.max_tokens}
        disk.write_json(folder / FILE, known)

    def vectors(self, texts: Sequence[str]) -> Tensor:
        """Unit vectors (n, width)."""
        return nn.functional.normalize(self.trajectory(texts).mean(dim=1), dim=-1)

    def trajectory(self, texts: Sequence[str]) -> Tensor:
        """The latent view: h_1 ... h_K of each text, (n, steps, width)."""
        read = self._start([self.tokens(text) for text in texts])
        states = [read.state]
        while len(states) < self.steps:
            read = self._next(read, self.expected(states[-1]))
            states.append(read.state)
        return torch.stack(states, dim=1)

    def expected(self, states: Tensor) -> Tensor:
        """The embedding that comes next, on average: (n, width) of states (n, width)."""
        head = self.model.get_output_embeddings()
        logits: Tensor = head(states * states.shape[-1] ** -0.5 if self._scaled else states)
        table: Tensor = self.model.get_input_embeddings().weight
        return logits.softmax(dim=-1) @ table[: logits.shape[-1]]

    @property
    def _scaled(self) -> bool:
        """Whether a T5 makes its states smaller before it compares them with words; later ones do not."""
        if not self.two_stacks:
            return False
        config = self.model.config
        return bool(getattr(config, "scale_decoder_outputs", config.tie_word_embeddings))

    def explicit(self, texts: Sequence[str], rationales: Sequence[Sequence[str]]) -> Tensor:
        """The explicit view: states at the ends of a rationale's parts, as many as steps, (n, steps, width).

        The last one, at the end token, is that of the whole. Without a rationale it is the text's alone.
        """
        rows, ends = [], []
        for text, parts in zip(texts, rationales, strict=True):
            row = [self._start_token()] if self.two_stacks else self.tokens(text)[:-1]
            at = []
            for part in parts:
                row += self.tokenizer(f"\n\n{part}", add_special_tokens=False)["input_ids"]
                at.append(len(row) - 1)
            row.append(self.end)
            rows.append(row)
            ends.append([*at[:-1], len(row) - 1])
        states, mask = self._read(texts, rows)
        shift = mask.shape[1] - mask.sum(dim=1).cpu().numpy()  # padding stands on the left
        chosen = np.stack([spread(one, self.steps) for one in ends]) + shift[:, None]
        places = torch.from_numpy(chosen).to(states.device)[..., None]
        return states.gather(1, places.expand(-1, -1, states.shape[-1]))

    # -- reading -----------------------------------------------------------------------------------

    def tokens(self, text: str) -> list[int]:
        """A text's tokens and the end token."""
        found: list[int] = self.tokenizer(
            text, add_special_tokens=False, truncation=True, max_length=self.max_tokens - 1
        )["input_ids"]
        return [*found, self.end]

    def _start_token(self) -> int:
        found = self.model.config.decoder_start_token_id
        return int(self.end if found is None else found)

    def _start(self, rows: list[list[int]]) -> _Read:
        if self.two_stacks:
            memory = self._encoded(rows)
            start = torch.full((len(rows), 1), self._start_token(), device=self._device)
            return self._decoded(self._embedded(start), memory)
        ids, mask = self._padded(rows)
        return self._continued(self._embedded(ids), mask)

    def _next(self, read: _Read, inputs: Tensor) -> _Read:
        if self.two_stacks:
            return self._decoded(inputs[:, None], read.memory, read.cache)
        mask = nn.functional.pad(read.mask, (0, 1), value=1)
        return self._continued(inputs[:, None], mask, read.cache)

    def _read(self, texts: Sequence[str], rows: list[list[int]]) -> tuple[Tensor, Tensor]:
        """All last states of token rows, and which are no padding: (n, tokens, width), (n, tokens)."""
        ids, mask = self._padded(rows)
        if not self.two_stacks:
            positions = (mask.cumsum(dim=1) - 1).clamp_min(0)
            found = self._base()(
                inputs_embeds=self._embedded(ids), attention_mask=mask, position_ids=positions
            )
            return found.last_hidden_state, mask
        memory = self._encoded([self.tokens(text) for text in texts])
        found = self.model.get_decoder()(
            inputs_embeds=self._embedded(ids), attention_mask=mask, **memory
        )
        return found.last_hidden_state, mask

    def _continued(self, inputs: Tensor, mask: Tensor, cache: Any = None) -> _Read:
        positions = (mask.cumsum(dim=1) - 1).clamp_min(0)[:, -inputs.shape[1] :]
        found = self._base()(
            inputs_embeds=inputs,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
        )
        return _Read(found.last_hidden_state[:, -1], found.past_key_values, mask=mask)

    def _decoded(self, inputs: Tensor, memory: dict[str, Tensor], cache: Any = None) -> _Read:
        found = self.model.get_decoder()(
            inputs_embeds=inputs, past_key_values=cache, use_cache=True, **memory
        )
        return _Read(found.last_hidden_state[:, -1], found.past_key_values, memory=memory)

    def _encoded(self, rows: list[list[int]]) -> dict[str, Tensor]:
        ids, mask = self._padded(rows)
        found = self.model.get_encoder()(input_ids=ids, attention_mask=mask)
        return {
            "encoder_hidden_states": found.last_hidden_state,
            "encoder_attention_mask": mask,
        }

    def _base(self) -> Any:
        return self.model.base_model

    @property
    def _device(self) -> torch.device:
        found: torch.device = self.model.get_input_embeddings().weight.device
        return found

    def _embedded(self, ids: Tensor) -> Tensor:
        found: Tensor = self.model.get_input_embeddings()(ids)
        return found

    def _padded(self, rows: list[list[int]]) -> tuple[Tensor, Tensor]:
        """Token rows side by side, the padding on the left, so that all end at the same place."""
        reversed_rows = [np.asarray(row[::-1], dtype=np.int64) for row in rows]
        table, filled = padded(reversed_rows, self.end)
        ids = torch.from_numpy(table[:, ::-1].copy()).to(self._device)
        mask = torch.from_numpy(filled[:, ::-1].astype(np.int64)).to(self._device)
        return ids, mask


class _Read:
    """Where a model stands after what it has read: its last state (n, width), and what it remembers."""

    def __init__(
        self,
        state: Tensor,
        cache: Any,
        *,
        mask: Tensor | None = None,
        memory: dict[str, Tensor] | None = None,
    ) -> None:
        self.state, self.cache = state, cache
        self.mask = torch.empty(0) if mask is None else mask
        self.memory = memory or {}


def spread(places: Sequence[int], steps: int) -> Ints:
    """As many places as steps: evenly spaced among these, the last one always; the last again if too few.

    >>> spread([4, 7, 9, 12, 20], 3).tolist(), spread([4, 7], 3).tolist(), spread([4, 7], 1).tolist()
    ([4, 9, 20], [4, 7, 7], [7])
    """
    listed = np.asarray(places, dtype=np.int64)
    if len(listed) <= steps:
        at = np.minimum(np.arange(steps), len(listed) - 1)
    else:
        at = np.round(np.linspace(0, len(listed) - 1, steps)).astype(np.int64)
        at[-1] = len(listed) - 1
    chosen: Ints = listed[at]
    return chosen


def _end_token(model: Any, tokenizer: Any) -> int:
    found = tokenizer.eos_token_id
    if found is None:
        found = model.config.eos_token_id
    if found is None:
        raise RarsError(f"{model.config.model_type} has no end token, so it cannot take steps.")
    return int(found[0] if isinstance(found, list) else found)


def _kept(folder: Path) -> dict[str, Any]:
    path = folder / FILE
    if not path.is_file():
        return {}
    found: dict[str, Any] = disk.read_json(path)
    return found


class LatentEmbedder:
    """Unit vectors of texts, after the steps that the model takes."""

    def __init__(self, source: str, device: str = "cpu") -> None:
        self._device = device
        self._model = LatentModel.open(source, device).eval()
        self._model.tokens("a")  # the first call settles how it cuts; then several threads may ask
        self.dim = self._model.width
        weights = weights_digest(located(source), self._model.model)
        known = [self._model.steps, self._model.max_tokens]
        self.digest = disk.digest_json([KIND, 1, weights, known])

    def embed(self, texts: Sequence[str]) -> Points:
        """Vectors, (n, width)."""
        out = np.empty((len(texts), self.dim), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))

        def embed(rows: list[int]) -> None:
            with torch.no_grad():
                found = self._model.vectors([texts[row] or "" for row in rows])
            out[rows] = found.float().cpu().numpy()

        batches = [order[start:stop] for start, stop in spans(len(order), _TEXTS)]
        on_free_cores(embed, batches, self._device)
        return out
