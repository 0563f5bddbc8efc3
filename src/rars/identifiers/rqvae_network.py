"""The training of an RQ-VAE.

Owns: the network, its start, the loop, and which epoch is kept. What comes out is a ``ResidualQuantizer``;
nothing of torch remains in it. Ignores what is trained for: the terms (``quantisation``) say.

Gradients pass the codes straight through. The last depth is assigned by balanced Sinkhorn while training
(unless ``balanced`` is off), every other depth, and every depth afterwards, by the nearest code; near is
meant in the Poincare ball where ``curvature`` is not 0. Codebooks start from k-means on all items, level by
level. Of the second half of the epochs, the one with the fewest collisions over the whole catalogue is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from rars import tensors
from rars.arrays import Codes, Floats, Ints, Points
from rars.config import part
from rars.errors import RarsError
from rars.identifiers.ball import BallQuantizer
from rars.identifiers.keys import distinct
from rars.identifiers.kmeans import residual_codebooks, sample
from rars.identifiers.learner import Scene
from rars.identifiers.poincare import ball_distances
from rars.identifiers.residual import Mlp, ResidualQuantizer
from rars.identifiers.rqvae import RqvaeSettings
from rars.identifiers.sinkhorn import sinkhorn
from rars.identifiers.step import Step

_INIT_POINTS = 1000
"""Latents per code used for the k-means start: all of them up to a quarter of a million items."""


class Network(nn.Module):
    """The three parts that train: encoder, decoder, codebooks (size, dim)."""

    def __init__(
        self, widths: Sequence[int], sizes: Sequence[int], seed: int, curvature: float = 0.0
    ) -> None:
        super().__init__()
        self.curvature = curvature
        draw = torch.Generator().manual_seed(seed)
        self.encoder = _layers(widths, draw)
        self.decoder = _layers(widths[::-1], draw)
        self.codebooks = nn.ParameterList(torch.zeros(size, widths[-1]) for size in sizes)

    def quantise(
        self, latent: Tensor, settings: RqvaeSettings | None = None
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Codes and codewords per depth; balanced at the last depth given settings."""
        residual = latent.detach()
        codes, words = [], []
        for depth, book in enumerate(self.codebooks):
            last = depth + 1 == len(self.codebooks)
            balanced = settings if last and settings is not None and settings.balanced else None
            code = assigned(residual, book.detach(), balanced, self.curvature)
            word = functional.embedding(code, book)
            residual = residual - word.detach()
            codes.append(code)
            words.append(word)
        return codes, words

    def step(
        self,
        scene: Scene,
        rows: Ints,
        settings: RqvaeSettings | None,
        number: tuple[int, ...] = (0,),
    ) -> Step:
        """The items at these rows of the catalogue, as the loss terms see them.

        Without settings every code is the nearest.
        """
        batch = _batch(self, scene.points, rows)
        latent = self.encoder(batch)
        codes, words = self.quantise(latent, settings)
        return Step(
            scene,
            rows,
            batch,
            latent,
            codes,
            words,
            books=tuple(self.codebooks),
            encode=self.encoder,
            decode=self.decoder,
            look=lambda others: self.step(scene, others, None, number),
            number=number,
            curvature=self.curvature,
        )


class Objective(nn.Module):
    """L = sum of weight x term, in the order of the settings; holds what the terms train for themselves."""

    def __init__(self, scene: Scene, settings: RqvaeSettings) -> None:
        super().__init__()
        self.weights = [one.weight for one in settings.terms]
        self.terms = [
            part("quantisation term", one.term).started(scene, one.own) for one in settings.terms
        ]
        self.trained = nn.ModuleList(one for one in self.terms if isinstance(one, nn.Module))

    def forward(self, step: Step) -> Tensor:
        """The loss of a step."""
        total = step.latent.new_zeros(())
        for weight, term in zip(self.weights, self.terms, strict=True):
            total = total + weight * term(step)
        return total


def assigned(
    residual: Tensor, book: Tensor, settings: RqvaeSettings | None, curvature: float = 0.0
) -> Tensor:
    """The code of each residual: the nearest, or balanced over the codes given settings."""
    if curvature:
        distances = ball_distances(residual, book, curvature)
    else:
        distances = (book * book).sum(1) - 2 * residual @ book.T
        if settings is not None:
            distances = distances + (residual * residual).sum(1, keepdim=True)
    if settings is None:
        return distances.argmin(1)
    plan = sinkhorn(distances, epsilon=settings.epsilon, iterations=settings.iterations)
    return plan.argmax(1)


def trained(scene: Scene, settings: RqvaeSettings) -> ResidualQuantizer:
    """Train on the scene's vectors, (n, input); after a kill, from the last epoch that was kept."""
    vectors, seed, kept = scene.points, scene.seed, scene.kept
    widths = [vectors.shape[1], *settings.hidden, settings.dim]
    network = Network(widths, scene.sizes, seed, settings.curvature).to(scene.device)
    objective = Objective(scene, settings).to(scene.device)
    rng = np.random.default_rng(seed)
    state = kept.found()
    if state is None:
        start_codebooks(network, vectors, seed)
    optimizer = torch.optim.AdamW(
        [*network.parameters(), *objective.parameters()],
        lr=settings.lr,
        weight_decay=settings.weight_decay,
    )
    done, best = 0, -1
    chosen: tensors.Named = network.state_dict()
    if state is not None:
        done, best, chosen = state.facts["epochs"], state.facts["best"], state.parts["chosen"]
        rng.bit_generator.state = state.facts["random"]
        network.load_state_dict(state.parts["network"])
        objective.load_state_dict(state.parts["objective"])
        tensors.restore_optimizer(optimizer, state.parts["optimizer"])
    for epoch in range(done + 1, settings.epochs + 1):
        train_epoch(network, optimizer, objective, settings, rng, scene=scene, epoch=epoch)
        if epoch == settings.epochs or _is_measured(epoch, settings):
            found = distinct(_codes(network, vectors))
            if found > best:
                best, chosen = found, tensors.copied(network.state_dict())
        if kept.due:
            kept.keep(
                {"epochs": epoch, "best": best, "random": rng.bit_generator.state},
                network=network.state_dict(),
                objective=objective.state_dict(),
                optimizer=tensors.of_optimizer(optimizer),
                chosen=chosen,
            )
        if scene.advance:
            scene.advance(epoch, settings.epochs)
    network.load_state_dict(chosen)
    return exported(network)


def _is_measured(epoch: int, settings: RqvaeSettings) -> bool:
    """Not in the first half: an encoder that has learned nothing yet can tell items apart, too."""
    return epoch % settings.evaluate_every == 0 and 2 * epoch > settings.epochs


def train_epoch(
    network: Network,
    optimizer: torch.optim.Optimizer,
    objective: Objective,
    settings: RqvaeSettings,
    rng: np.random.Generator,
    *,
    scene: Scene,
    epoch: int = 1,
) -> float:
    """One pass over the items in random order; returns the mean loss."""
    order = rng.permutation(len(scene.points))
    used = [torch.zeros_like(book[:, 0], dtype=torch.int64) for book in network.codebooks]
    losses = []
    for start in range(0, len(order), settings.batch):
        rows = np.sort(order[start : start + settings.batch])
        step = network.step(scene, rows, settings, (epoch, start))
        loss = objective(step)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if not np.isfinite(losses[-1]):
            raise RarsError(
                f"Learning identifiers diverged in epoch {epoch}; lower identifiers.rqvae.lr, or the weight "
                "of a term of identifiers.rqvae.terms."
            )
        for counts, code in zip(used, step.codes, strict=True):
            counts += torch.bincount(code, minlength=len(counts))
    if settings.revive:
        _revive_unused(network, optimizer, used, step.batch, rng)
    return float(np.mean(losses))


def revive(
    book: nn.Parameter,
    dead: Tensor,
    pool: Tensor,
    optimizer: torch.optim.Optimizer,
    rng: np.random.Generator,
) -> None:
    """Move dead codes onto random rows of ``pool`` and forget what the optimiser knew about them.

    Without the second half the old momentum would carry a revived code away again at the next step.
    """
    count = int(dead.sum())
    rows = rng.choice(len(pool), count, replace=len(pool) < count)
    with torch.no_grad():
        book[dead] = pool[torch.from_numpy(rows).to(pool.device)]
        for value in optimizer.state[book].values():
            if isinstance(value, Tensor) and value.shape == book.shape:
                value[dead] = 0


@torch.no_grad()
def start_codebooks(network: Network, vectors: Floats, seed: int) -> None:
    """k-means on the items' latents, level by level on what is left over."""
    sizes = [len(book) for book in network.codebooks]
    drawn = sample(vectors, _INIT_POINTS * max(sizes), seed)
    latents = np.concatenate([z.cpu().numpy() for z in _latents(network, drawn)])
    books = residual_codebooks(latents, sizes, seed=seed, iterations=10, restarts=10)
    rng = np.random.default_rng(seed)
    for book, found in zip(network.codebooks, books, strict=True):
        # Fewer distinct latents than codes: the rest start beside them, for training to use.
        beside = found[rng.integers(len(found), size=len(book) - len(found))]
        noise = rng.normal(scale=latents.std() / 10, size=beside.shape)
        start = np.concatenate([found, (beside + noise).astype(np.float32)])
        book.copy_(torch.from_numpy(start))


def exported(network: Network) -> ResidualQuantizer:
    """The trained parts as plain arrays."""
    books = tuple(_array(book) for book in network.codebooks)
    encoder, decoder = _mlp(network.encoder), _mlp(network.decoder)
    if network.curvature:
        return BallQuantizer(books, encoder, decoder, network.curvature)
    return ResidualQuantizer(books, encoder, decoder)


@torch.no_grad()
def _revive_unused(
    network: Network,
    optimizer: torch.optim.Optimizer,
    used: list[Tensor],
    batch: Tensor,
    rng: np.random.Generator,
) -> None:
    residual = network.encoder(batch)
    for book, counts in zip(network.codebooks, used, strict=True):
        code = assigned(residual, book, None, network.curvature)
        dead = counts == 0
        if dead.any():
            revive(book, dead, residual, optimizer, rng)
        residual = residual - book[code]


@torch.no_grad()
def _codes(network: Network, vectors: Floats) -> Codes:
    found = [torch.stack(network.quantise(z)[0], 1).cpu() for z in _latents(network, vectors)]
    return torch.cat(found).numpy().astype(np.int32)


def _latents(network: Network, vectors: Floats, size: int = 4096) -> Iterator[Tensor]:
    rows = np.arange(len(vectors))
    for start in range(0, len(rows), size):
        yield network.encoder(_batch(network, vectors, rows[start : start + size]))


def _batch(network: Network, vectors: Floats, rows: Ints) -> Tensor:
    device = network.codebooks[0].device
    return torch.from_numpy(np.asarray(vectors[rows], dtype=np.float32)).to(device)


def _layers(widths: Sequence[int], draw: torch.Generator) -> nn.Sequential:
    parts: list[nn.Module] = []
    for before, after in pairwise(widths):
        # skip_init: the default start would draw from the global generator
        linear: nn.Linear = nn.utils.skip_init(nn.Linear, before, after)  # type: ignore[no-untyped-call]
        nn.init.xavier_normal_(linear.weight, generator=draw)
        nn.init.zeros_(linear.bias)
        parts += [linear, nn.ReLU()]
    return nn.Sequential(*parts[:-1])


def _mlp(layers: nn.Sequential) -> Mlp:
    linears = [layer for layer in layers if isinstance(layer, nn.Linear)]
    return Mlp(
        tuple(np.ascontiguousarray(_array(layer.weight).T) for layer in linears),
        tuple(_array(layer.bias) for layer in linears),
    )


def _array(tensor: Tensor) -> Points:
    return tensor.detach().cpu().numpy().astype(np.float32, copy=True)
