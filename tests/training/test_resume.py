"""A run that is killed goes on to the very same weights; two processes do the work of one."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from rars.data.shop import make_shop
from tests.command import Started, rars, start
from tests.training import share_batches

SETTINGS = {
    "model.vocabulary": 400,
    "identifiers.sizes": [16, 16, 16],
    "training.epochs": 3,
    "training.pairs": 64,
    "training.checkpoint_seconds": 0,
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "shop"
    make_shop(folder, size="tiny")
    return folder


def command(shop, out, **settings):
    changes = [f"--set={k}={json.dumps(v)}" for k, v in (SETTINGS | settings).items()]
    return ["train", "rars", "--data", str(shop), "--out", str(out), *changes]


def environment(shop):
    return os.environ | {"OMP_NUM_THREADS": "1", "RARS_CACHE": str(shop.parent / "cache")}


def run(shop, out, **settings):
    return rars(*command(shop, out, **settings), env=environment(shop))


def weights(out):
    return (out / "model" / "model.safetensors").read_bytes()


@pytest.fixture(scope="module")
def undisturbed(shop, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "whole"
    done = run(shop, out)
    assert done.returncode == 0, done.stderr
    return out


def test_sigkill_at_random_moments_ends_in_bit_identical_weights(shop, undisturbed, tmp_path):
    out = tmp_path / "killed"
    rng = np.random.default_rng(0)
    kills = 0
    for _ in range(20):
        process = start(*command(shop, out), env=environment(shop))
        journal = out / "journal.jsonl"
        # Let it get into training, then strike; the last rounds may run to their end.
        wait = time.monotonic() + 60
        before = journal.stat().st_mtime if journal.exists() else 0
        while process.poll() is None and time.monotonic() < wait:
            if journal.exists() and journal.stat().st_mtime > before and kills < 3:
                time.sleep(float(rng.uniform(0.02, 0.3)))
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.01)
        if process.wait() == 0:
            break
        kills += 1
    assert kills
    assert weights(out) == weights(undisturbed)
    steps = [json.loads(line)["step"] for line in journal.read_text().splitlines()]
    assert steps == sorted(set(steps)), "the journal tells of one uninterrupted run"


def test_an_interrupt_saves_and_says_how_to_go_on(shop, undisturbed, tmp_path):
    out = tmp_path / "stopped"
    process = start(*command(shop, out), env=environment(shop))
    while process.poll() is None and not (out / "journal.jsonl").exists():
        time.sleep(0.02)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on from there" in said
    again = run(shop, out)
    assert again.returncode == 0
    step = int(re.search(r"Going on from step (\d+), in epoch \d\.", again.stderr)[1])
    assert 0 < step < len((out / "journal.jsonl").read_text().splitlines())
    assert weights(out) == weights(undisturbed)


def test_a_trained_run_is_not_trained_again(shop, undisturbed):
    before = weights(undisturbed)
    done = run(shop, undisturbed)
    assert "trained already" in done.stderr
    assert weights(undisturbed) == before


def test_another_recipe_in_the_same_folder_is_refused(shop, undisturbed):
    before = weights(undisturbed)
    done = run(shop, undisturbed, **{"training.learning_rate": 0.01})
    assert done.returncode == 2
    assert "belongs to another recipe or other data" in done.stderr
    assert weights(undisturbed) == before


def test_a_loss_that_explodes_is_one_sentence_and_overwrites_nothing(shop, tmp_path):
    done = run(shop, tmp_path / "wild", **{"training.learning_rate": 1e30, "training.clip": 1e30})
    assert done.returncode == 2
    assert "Try a lower training.learning_rate" in done.stderr
    assert "Traceback" not in done.stderr


def launched(processes):
    """How a person would start several processes on this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    where = ("--master-addr=127.0.0.1", f"--master-port={port}")
    return (sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={processes}", *where)


@pytest.mark.parametrize("batching", ["pairs", "queries"])
def test_two_processes_give_the_losses_and_weights_of_one(tmp_path, batching):
    # In float64: Adam turns the rounding of a vanishing gradient into a visible step in float32.
    alone = Started(share_batches.main, str(tmp_path / "1"), batching)
    done = subprocess.run(
        [*launched(2), "-m", "tests.training.share_batches", str(tmp_path / "2"), batching],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    assert alone.wait() == 0
    one, two = (safetensors.numpy.load_file(tmp_path / n / "final.safetensors") for n in "12")
    for name, values in one.items():
        np.testing.assert_allclose(values, two[name], atol=1e-9, err_msg=name)
    first, second = (_journal(tmp_path / n) for n in "12")
    assert len(first) > 5
    for line, other in zip(first, second, strict=True):
        for term in ("full-sid", "tree", "category-class", "category-contrast"):
            assert line[term] == pytest.approx(other[term], abs=1e-9)


def test_processes_lose_patience_together(tmp_path):
    """Also where they disagree about what they measured; one that went on alone would wait for ever."""
    done = subprocess.run(
        [*launched(2), "-m", "tests.training.share_batches", str(tmp_path), "queries", "2"],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    validated = [line["epoch"] for line in _journal(tmp_path) if "validation" in line]
    assert validated == [1, 2, 3]


def test_the_command_trains_under_a_launcher(shop, tmp_path):
    settings = {"model.dropout": 0.0, "training.epochs": 1}
    assert run(shop, tmp_path / "one", **settings).returncode == 0
    done = subprocess.run(
        [*launched(2), "-m", "rars", *command(shop, tmp_path / "two", **settings)],
        env=environment(shop),
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    for line, other in zip(_journal(tmp_path / "one"), _journal(tmp_path / "two"), strict=True):
        assert line["full-sid"] == pytest.approx(other["full-sid"], abs=1e-4)
    assert (tmp_path / "two" / "model" / "model.safetensors").exists()


def _journal(out):
    return [json.loads(line) for line in (out / "journal.jsonl").read_text().splitlines()]
