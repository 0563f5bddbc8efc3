"""From three tables to a run that is ready to be searched, every choice made on validation queries.

Owns: which choices are made, in what order, what each may cost of the time there is, and that a killed call
goes on after the last choice made. Ignores how each is made: the embedder (``rars.identifiers.choosing``),
the curve of sizes (``rars.identifiers.loss_curve``), training with patience (``rars.training``), the weights
of hybrid search (``rars.search.tuning``).

    embedder -> fine-tuned or not -> identifiers of the usual sizes, and their loss curve -> sizes -> epochs
    -> training -> weights

Sizes other than the usual ones are taken only if they pay where it counts: both are trained for one epoch,
their hybrid weights are chosen, and the mean of nDCG@10 and Recall@100 of hybrid search over the validation
queries has to be higher by ``PAYS`` and by more than its standard error, query by query. The curve says what
the model alone could gain; hybrid search reads exact vectors too, and may gain nothing from longer codes.

Time is kept by expectation: a comparison is left out, and epochs are fewer, where what is left would not do.
What was begun is finished. Trials are runs in ``trials/`` of the run folder; they go when all is chosen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rars import disk, locks, places
from rars.analysis import loss_curve
from rars.config import EmbedderTuning, Recipe
from rars.data import Dataset
from rars.errors import RarsError, expected
from rars.evaluation.tables import Table
from rars.identifiers.choosing import AUTO, USE, choose_embedder, choose_tuning
from rars.identifiers.embedders import embedder_kind
from rars.identifiers.loss_curve import USUAL, CurvePoint, named
from rars.pipeline import costs, indexing
from rars.pipeline.choices import MEASURES, Choices
from rars.pipeline.embedding import with_embedder
from rars.pipeline.evaluation import Evaluation, evaluate
from rars.pipeline.identification import check_given, identify
from rars.pipeline.rehearsal import Quiet, rehearsed
from rars.pipeline.training import train
from rars.progress import SILENT, Tell
from rars.runs import TRIALS, Run, kept
from rars.scale import cost

PAYS = 0.005
"""What larger sizes have to bring to hybrid search: half a point."""
PATIENCE = 3
"""Validations: under a cosine the last epochs gain most; earlier ones go up and down by half a point."""
FEWEST = 2
"""Epochs at the least, however little time there is."""
_SHARE = 0.4
"""Of the time that is left, what a comparison may take."""
_SPARE = 0.8
"""The same of comparing embedders, which matter most, where the steps that are always done need little."""
_SURE = 3.0
"""Where there is so many times the time that training should take, nothing is rehearsed."""
_WORTH_SAYING = 20.0
"""Seconds of embedding queries that are named among what is expected."""
TRIAL = "usual"
LARGER = "larger"
SPEED = "speed"


@dataclass(frozen=True, eq=False)
class Tuned:
    """A run that is ready, and what was chosen for it."""

    run: Run
    choices: Choices

    def tables(self) -> list[Table]:
        """What was chosen and why, and the numbers."""
        return self.choices.tables()

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "run": str(self.run.folder),
            **self.choices.asked,
            "seconds": round(self.choices.seconds, 1),
            "choices": self.choices.made,
        }


def tune_catalogue(
    dataset: Dataset,
    out: str | Path,
    *,
    minutes: float = 30,
    recipe: str = "practical",
    size: str = "tiny",
    changes: Sequence[str] = (),
    tell: Tell = SILENT,
) -> Tuned:
    """Choose embedder, identifier sizes, epochs and hybrid weights on validation queries, and train the run.

    ``changes`` are settings as for a recipe; what they say is not chosen any more. Killed at any moment, the
    same call goes on.
    """
    if isinstance(minutes, bool) or not isinstance(minutes, int | float):
        raise expected("minutes", "a number", minutes)
    if not 1 <= minutes <= 10_000:
        raise RarsError(f"--minutes {minutes:g} is not between 1 and 10,000.")
    usual = [f"training.patience={PATIENCE}", "training.keep=best"]
    resolved = Recipe.resolve(recipe, size=size, changes=[*usual, *changes])
    check_given(dataset, resolved)
    if not resolved.generative:
        raise RarsError(f"rars tune is about systems with identifiers; {recipe} is none.")
    if len(resolved.phases) > 1:
        raise RarsError(f"rars tune trains one phase; {recipe} has {len(resolved.phases)}.")
    folder = places.target(out)
    with locks.held(folder), kept(dataset, folder) as stored:
        Run.planned(folder, stored)
        said = {text.partition("=")[0].strip() for text in changes}
        judged = len(np.unique(stored.positives("validation")[0]))
        on = f"{judged:,} validation queries" if judged else "queries made of items"
        options = {"recipe": recipe, "size": size, "changes": list(changes)}
        asked = {"data": stored.digest, "options": options, "minutes": minutes, "on": on}
        choices = Choices.begin(folder, asked)
        if "training" not in choices.made and (folder / "manifest.json").exists():
            _check_own(choices, folder)
        return _Tuning(stored, folder, resolved, said, choices, judged, tell).go()


def _check_own(choices: Choices, folder: Path) -> None:
    """Refuse a run that was made by hand: its choices were made by somebody."""
    if "epochs" not in choices.made:
        raise RarsError(
            f"{folder} is a run that was not made by rars tune; choose another --out, or choose its weights "
            f"alone: rars index {folder} --tune."
        )


@dataclass(eq=False)
class _Tuning:
    """The choices of one run, one after the other."""

    dataset: Dataset
    folder: Path
    recipe: Recipe
    said: set[str]
    """Settings that the user has decided."""
    choices: Choices
    judged: int
    tell: Tell
    began: float = field(default_factory=time.perf_counter)
    before: float = 0.0
    a_query: dict[str, float] = field(default_factory=dict)
    """Seconds that a short text takes, by embedder."""

    def go(self) -> Tuned:
        self.before = self.choices.seconds
        run = Run(self.folder)
        if self.choices.done:
            self.tell.say(f"{self.folder} is tuned already.")
        else:
            self._announce()
            self._step("embedder", self._embedder, "1 of 6: the embedder.")
            self._step("tuned", self._tuned, "2 of 6: fine-tuning it.")
            self._step("identifiers", self._identifiers, "3 of 6: identifiers.")
            self._step("sizes", self._sizes, "4 of 6: their sizes.")
            self._step("epochs", self._epochs, "5 of 6: training.")
            self._step("training", self._training)
            self._step("weights", self._weights, "6 of 6: the weights of hybrid search.")
            self._step("validation", self._validation)
        disk.discard(self.folder / TRIALS)
        disk.sweep(self.folder, TRIALS)
        return Tuned(run, self.choices)

    def _step(self, name: str, choose: Callable[[], Mapping[str, Any]], title: str = "") -> None:
        if name in self.choices.made:
            return
        if title:
            self.tell.say(f"Step {title}")
        start = time.perf_counter()
        chosen = choose()
        self.choices.keep(name, chosen, time.perf_counter() - start)

    @property
    def left(self) -> float:
        """Seconds of the budget."""
        spent = self.before + time.perf_counter() - self.began
        return 60 * float(self.choices.asked["minutes"]) - spent

    # -- what it will do ---------------------------------------------------------------------------

    def _announce(self) -> None:
        """What will be done, and what that should take."""
        say = self.tell.say
        known = self.choices.made
        if known:
            say(f"Going on in {self.folder}: {', '.join(known)} chosen already.")
        else:
            facts = f"{self.dataset.n_items:,} items, {self.choices.asked['on']} to choose on"
            say(f"Tuning {self.recipe.name} for {self.dataset.name}: {facts}.")
            if not self.judged:
                say(
                    "There are no judged validation queries: embedder and sizes stay the usual ones, and "
                    "weights are chosen on queries made of item titles."
                )
            say(
                "Steps: the embedder; whether fine-tuning it pays; identifiers, and what other sizes "
                "would keep; their sizes; "
                f"training, at most {self._most} epochs, stopped when validation gets no better; "
                "the weights of hybrid search."
            )
        say(self._outlook())

    def _outlook(self) -> str:
        """What is left to do, how long that should take, and how much of it there is time for."""
        known, wanted = self.choices.made, self._expected()
        before = {} if "identifiers" in known else {"identifiers": wanted["identifiers"]}
        after = {} if "weights" in known else {"weights": wanted["weights"]}
        parts = [f"{name} {cost.duration(seconds)}" for name, seconds in before.items()]
        total = sum((*before.values(), *after.values()))
        late = ""
        if "training" not in known:
            most = known.get("epochs", {}).get("epochs", self._most)
            room = self.left - total - wanted["index"]
            epochs = self._fitting(room, wanted["epoch"], most)
            reading = self._reading(epochs)
            total += epochs * wanted["epoch"] + reading + wanted["index"]
            if reading >= _WORTH_SAYING:
                parts.append(f"vectors of queries made of items {cost.duration(reading)}")
            share = f"{epochs} epochs" if epochs == most else f"{epochs} of {most} epochs"
            parts.append(f"{share} of {cost.duration(wanted['epoch'])}")
            if epochs == most and self.judged and "sizes" not in known:
                late = f"; what is left of the {self._budget} may go into comparing sizes"
        parts += [f"{name} {cost.duration(seconds)}" for name, seconds in after.items()]
        if total > self.left:
            late = f", more than the {self._budget}: this machine is busy or slow, and it will end late"
        if not parts:
            return "Expected: a moment."
        return f"Expected: about {cost.duration(total)} ({', '.join(parts)}){late}."

    @property
    def _budget(self) -> str:
        return f"{self.choices.asked['minutes']:g} minutes"

    @property
    def _most(self) -> int:
        return self.recipe.phases[0].loop.epochs

    def _expected(self) -> dict[str, float]:
        """Seconds of the steps that are always done, as far as they can be known before."""
        slowness = cost.slowness()
        work = costs.amounts(self.dataset, self.recipe)
        stages = costs.identifying(self.recipe)
        identifiers = sum(cost.stage(name, work[name]).seconds for name in stages if work[name])
        index = cost.stage("index", work["index"]).seconds
        epoch = costs.epoch(self.dataset, self.recipe)
        weights = costs.weights(self.judged)
        found = {
            "identifiers": identifiers + costs.CURVE * self.dataset.n_items / 1e3,
            "epoch": epoch,
            "training": self._most * epoch + index,
            "index": index,
            "weights": weights,
        }
        found = {name: slowness * seconds for name, seconds in found.items()}
        return found | {"training": found["training"] + self._reading(self._most)}

    def _reading(self, epochs: int) -> float:
        """Seconds of giving vectors to the queries made of items that so many epochs learn from."""
        count = costs.made_queries(self.dataset, self.recipe, epochs)
        name = (
            self.choices.made["embedder"]["name"] if "embedder" in self.choices.made else USE.name
        )
        if count and name not in self.a_query:
            self.a_query[name] = costs.seconds_a_query(self.dataset, name, cost.slowness())
        return count * self.a_query.get(name, 0.0)

    def _fitting(self, room: float, each: float, most: int) -> int:
        """The epochs there is room for, of so many seconds each; ``FEWEST`` at the least."""
        least = min(FEWEST, most)
        fit = (n for n in range(most, least, -1) if n * each + self._reading(n) <= room)
        return next(fit, least)

    # -- the choices -------------------------------------------------------------------------------

    def _embedder(self) -> dict[str, Any]:
        wanted = self.recipe.identifiers
        if "identifiers.embedder" in self.said and wanted.embedder != AUTO:
            return {"name": wanted.embedder, "why": "you said so", "queries": 0, "tried": []}
        chosen = choose_embedder(
            self.dataset, wanted.fit, seed=wanted.seed, most=self._spare(), tell=self.tell
        )
        return chosen.as_dict()

    def _spare(self) -> float:
        """Seconds that comparing embedders may take: the rest has to fit in behind it."""
        wanted = self._expected()
        rest = wanted["identifiers"] + wanted["training"] + wanted["weights"]
        return max(_SHARE * self.left, _SPARE * self.left - rest)

    def _tuned(self) -> dict[str, Any]:
        """Whether the embedder is fine-tuned."""
        own = with_embedder(self.recipe, self.choices.made["embedder"]["name"]).identifiers
        if any(name.split(".")[:2] == ["identifiers", "tune"] for name in self.said):
            tune = own.tune and own.tune.model_dump(mode="json", exclude_none=True)
            return {"tune": tune, "why": "you said so", "tried": []}
        chosen = choose_tuning(self.dataset, own, most=_SHARE * self.left, tell=self.tell)
        self.tell.say(f"Fine-tuning: {'yes' if chosen.tune else 'no'}, {chosen.why}.")
        return chosen.as_dict()

    def _identifiers(self) -> dict[str, Any]:
        """Identifiers of the usual sizes, and what others would keep."""
        if self._sizes_said:
            return {"items": self.dataset.n_items}
        made = identify(self.dataset, self._with(), self._trial(TRIAL), tell=self.tell)
        with self.tell.stage("sizes") as advance:
            found = loss_curve.curve(self.dataset, made.identifiers, advance=advance)
        self.tell.say(found.sentence())
        return {"items": self.dataset.n_items, "curve": found.as_dict()}

    @property
    def _sizes_said(self) -> str:
        """Who has decided on sizes already, as a reason; nothing where they are to be chosen."""
        if self.said & {"identifiers.sizes", "identifiers.learner"}:
            return "you said so"
        own = self.recipe.identifiers
        usual = own.learner == "residual-kmeans" and own.sizes == USUAL
        readable = embedder_kind(self.choices.made["embedder"]["name"])[0].reads_texts
        return "" if usual and readable else "as the recipe says"

    def _sizes(self) -> dict[str, Any]:
        own = list(self.recipe.identifiers.sizes)
        if why := self._sizes_said:
            return {"sizes": own, "why": why, "compared": []}
        curve = self.choices.curve
        assert curve is not None
        best, usual = curve.proposed(), curve.point(USUAL)
        assert usual is not None
        keep = f"{100 * usual.recall:.1f} of {100 * curve.exact:.1f} % kept"
        if best.sizes == USUAL:
            why = f"{keep}; no further search step would bring a point"
            return {"sizes": list(USUAL), "why": why, "compared": []}
        offer = f"{best.name} would keep {100 * best.recall:.1f}"
        if not self.judged:
            why = f"{keep}, {offer}; queries made of items cannot tell whether that pays"
            return {"sizes": list(USUAL), "why": why, "compared": []}
        needed = self._comparing(best)
        if needed > _SHARE * self.left:
            self.tell.say(
                f"{offer}, but comparing takes about {cost.duration(needed)}, too much of the {self._budget}."
            )
            why = f"{keep}, {offer}; {self._budget} are too few to see whether that pays"
            return {"sizes": list(USUAL), "why": why, "compared": []}
        return self._compare(best, keep)

    def _comparing(self, best: CurvePoint) -> float:
        """Seconds that it takes to compare the usual sizes with others."""
        wanted = self._expected()
        each = wanted["epoch"] + wanted["index"] + wanted["weights"]
        return each * (1 + best.steps / len(USUAL)) + wanted["identifiers"] + self._reading(1)

    def _compare(self, best: CurvePoint, keep: str) -> dict[str, Any]:
        """Both sizes, trained for one epoch and tuned; the larger if they pay."""
        self.tell.say(f"Comparing {named(USUAL)} with {best.name}, one epoch each.")
        found, quiet = [], Quiet(self.tell)
        for name, sizes in ((TRIAL, USUAL), (LARGER, best.sizes)):
            recipe = self._with(sizes, epochs=1)
            home = self._trial(name)
            train(self.dataset, recipe, home, tell=quiet)
            indexing.tune(home, tell=quiet)
            found.append(evaluate(home, rules=["ar", "hybrid"], split="validation", tell=quiet))
        usual, larger = (_qualities(one) for one in (pair[1] for pair in found))
        gain = larger - usual
        error = float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else 0.0
        mean = float(gain.mean())
        pays = mean >= PAYS and mean > error
        compared = [
            {"sizes": list(sizes), **{one.rule: _means(one) for one in pair}}
            for sizes, pair in zip((USUAL, best.sizes), found, strict=True)
        ]
        alone = 100 * float((_qualities(found[1][0]) - _qualities(found[0][0])).mean())
        why = (
            f"{best.name} {'bring' if pays else 'would bring'} hybrid search {100 * mean:+.1f} "
            f"± {100 * error:.1f} points (the model alone {alone:+.1f})"
        )
        if not pays:
            why += ": they do not pay"
        self.tell.say(f"{why}.")
        return {"sizes": list(best.sizes if pays else USUAL), "why": why, "compared": compared}

    def _epochs(self) -> dict[str, Any]:
        """How many epochs there is time for."""
        most, wanted = self._most, self._expected()
        each = wanted["epoch"] * len(self.choices.sizes) / len(USUAL)
        room = self.left - wanted["index"] - wanted["weights"]
        known = self.choices.asked["options"]["size"] == "tiny"
        if not known or room < _SURE * each * most + self._reading(most):
            each = self._rehearsed(self._fitting(room, each, most))
            room = self.left - wanted["index"] - wanted["weights"]
        epochs = self._fitting(room, each, most)
        if epochs < most:
            self.tell.say(
                f"An epoch takes about {cost.duration(each + self._reading(epochs) / epochs)}: "
                f"{epochs} of {most}, to end in time."
            )
        return {"epochs": epochs, "of": most}

    def _rehearsed(self, epochs: int) -> float:
        """Seconds of an epoch, from the first steps of a training that is then forgotten.

        ``epochs``  as many as there may be time for: the queries that these learn from are then read already
        """
        home = self._trial(SPEED)
        self.tell.say("Rehearsing the training, to see how many epochs there is time for.")
        recipe = self._with(self.choices.sizes, epochs=epochs)
        source = self._source(recipe)
        return rehearsed(self.dataset, recipe, home, identifiers=source, tell=self.tell) / epochs

    def _training(self) -> dict[str, Any]:
        epochs = self.choices.made["epochs"]["epochs"]
        recipe = self._with(self.choices.sizes, epochs=epochs)
        source = self._source(recipe)
        done = train(self.dataset, recipe, self.folder, identifiers=source, tell=self.tell)
        seen = _validations(self.folder)
        reached = max((epoch for epoch, _ in seen), default=epochs)
        why = "all epochs, no judged validation queries to stop by"
        if seen:
            best = max(seen, key=lambda one: one[1])
            why = f"best after epoch {best[0]} (the model alone: Recall@100 {100 * best[1]:.1f})"
            if reached < epochs:
                why += f"; stopped, {recipe.training.patience} validations were no better"
        if epochs < self.choices.made["epochs"]["of"]:
            why += f"; no more than {epochs} epochs in {self._budget}"
        return {"epochs": reached, "steps": done.steps, "why": why}

    def _source(self, recipe: Recipe) -> Path | None:
        """The trial whose identifiers a run takes over; None where there is none."""
        for name in (TRIAL, LARGER):
            home = self._trial(name)
            if (home / "identifiers").exists() and (home / "manifest.json").exists():
                known = Run.open(home).recipe().identifiers
                if known == recipe.identifiers:
                    return home
        return None

    def _weights(self) -> dict[str, Any]:
        chosen = indexing.tune(self.folder, tell=self.tell)
        on = self.choices.asked["on"]
        return {"settings": chosen, "why": f"fitted by likelihood and tried in the beam on {on}"}

    def _validation(self) -> dict[str, Any]:
        if not self.judged:
            return {"queries": 0, "rules": {}}
        found = evaluate(self.folder, rules=["ar", "hybrid"], split="validation", tell=self.tell)
        rules = {one.rule: _means(one) for one in found}
        return {"queries": len(found[0].per_query), "rules": rules}

    # -- parts -------------------------------------------------------------------------------------

    def _trial(self, name: str) -> Path:
        return self.folder / TRIALS / name

    def _with(self, sizes: Sequence[int] | None = None, epochs: int | None = None) -> Recipe:
        """The recipe as far as it is chosen."""
        found = with_embedder(self.recipe, self.choices.made["embedder"]["name"])
        tune = self.choices.made["tuned"]["tune"]
        identifiers = found.identifiers.model_copy(
            update={"tune": tune and EmbedderTuning.model_validate(tune)}
        )
        if sizes is not None and tuple(sizes) != identifiers.sizes:
            identifiers = identifiers.model_copy(update={"sizes": tuple(sizes)})
        epochs = self._most if epochs is None else epochs
        training = found.training.model_copy(update={"epochs": epochs, "evaluations": epochs})
        # Checked again: what was copied was not.
        changed = found.model_copy(update={"identifiers": identifiers, "training": training})
        return Recipe.of(changed.model_dump(mode="json", exclude_none=True), self.recipe.name)


def _validations(folder: Path) -> list[tuple[int, float]]:
    """Epoch and recall of every validation of a training."""
    from rars.training import journal

    lines = journal.read(folder / "journal.jsonl")
    return [(int(one["epoch"]), one["validation"]) for one in lines if "validation" in one]


def _means(found: Evaluation) -> dict[str, float]:
    return {name: found.mean(name) for name in MEASURES}


def _qualities(found: Evaluation) -> Any:
    """(n,) of every query, what is compared."""
    return found.per_query.matrix(MEASURES).mean(axis=1)
