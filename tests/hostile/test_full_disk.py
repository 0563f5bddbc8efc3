"""A disk without room, weights that are no numbers: one sentence, what was there stays, and it goes on."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
import torch

from rars import artifacts
from rars.analysis import figures
from rars.cli import app
from rars.errors import RarsError
from rars.model import saving
from rars.training import checkpoint
from rars.training.checkpoint import Position
from rars.training.journal import Journal, read

TRAIN = (
    "train base --data {0}/shop --out {1} --size tiny --set model.vocabulary=300 "
    "--set identifiers.sizes=[4,4] --set training.epochs=2 --set training.pairs=512"
)


def mounted(place, size):
    line = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(line, capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")


@pytest.fixture
def disk(tmp_path):
    """A disk of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted(place, "1m")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def small(seed=0):
    torch.manual_seed(seed)
    model = torch.nn.Linear(100, 100)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 100)).sum().backward()
    optimizer.step()
    return model, optimizer


def test_a_checkpoint_without_room_leaves_the_ones_before(disk):
    model, optimizer = small()
    folder = disk / "checkpoints"
    checkpoint.save(folder, model, optimizer, Position(step=1), "source")
    (disk / "filler").write_bytes(bytes(850_000))
    said = r"step-000000002 could not be written: no space left on device\.$"
    with pytest.raises(RarsError, match=said):
        checkpoint.save(folder, model, optimizer, Position(step=2), "source")
    assert [path.name for path in folder.iterdir()] == ["step-000000001"]
    assert not list(disk.rglob("*.partial"))
    for path in folder.iterdir():
        artifacts.opening(path, kind=checkpoint.KIND)
    (disk / "filler").unlink()
    checkpoint.save(folder, model, optimizer, Position(step=3), "source")
    assert checkpoint.newest(folder, "source")[1].step == 3


def test_a_journal_without_room_is_one_sentence_and_keeps_its_whole_lines(disk):
    journal = Journal(disk / "journal.jsonl", 0)

    def fill():
        for step in range(1, 10**6):
            journal.write(step=step, text="x" * 500)

    said = r"journal\.jsonl could not be written: no space left on device\.$"
    with pytest.raises(RarsError, match=said):
        fill()
    lines = read(disk / "journal.jsonl")
    assert [line["step"] for line in lines] == list(range(1, len(lines) + 1))
    assert len(lines) > 500


def test_a_figure_without_room_is_one_sentence_and_the_one_before_stays(disk):
    path = disk / "results" / "curves.png"

    def draw(text):
        with figures.figure(path, panels=1) as (axis,):
            axis.set_title(text)

    draw("before")
    before = path.read_bytes()
    with (disk / "filler").open("wb") as stream, pytest.raises(OSError):  # noqa: PT011
        stream.write(bytes(2_000_000))
    with pytest.raises(
        RarsError, match=r"curves\.png could not be written: no space left on device"
    ):
        draw("after")
    assert [(one.name, one.read_bytes()) for one in path.parent.iterdir()] == [(path.name, before)]
    (disk / "filler").unlink()
    draw("after")
    assert path.read_bytes() != before


def test_a_training_goes_on_when_there_is_room_again(tmp_path, monkeypatch):
    """The run is bit for bit that of a disk that was never full."""
    monkeypatch.setenv("RARS_CACHE", str(tmp_path / "cache"))
    app(f"data shop {tmp_path}/shop --size 100".split(), standalone_mode=False)
    app(TRAIN.format(tmp_path, tmp_path / "roomy").split(), standalone_mode=False)
    size = sum(p.stat().st_size for p in (tmp_path / "roomy").rglob("*") if p.is_file())
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted(disk, size // 3)
    try:
        with pytest.raises(RarsError, match=r"could not be written: no space left on device\.$"):
            app(TRAIN.format(tmp_path, disk / "run").split(), standalone_mode=False)
        assert not list(disk.rglob("*.partial"))
        grown = ["mount", "-o", f"remount,size={4 * size}", str(disk)]
        subprocess.run(grown, check=True)
        app(TRAIN.format(tmp_path, disk / "run").split(), standalone_mode=False)
        for name in ("model/model.safetensors", "identifiers/codes.npy", "index/v000001/codes.npy"):
            assert (disk / "run" / name).read_bytes() == (tmp_path / "roomy" / name).read_bytes()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


# -- weights that are no numbers -------------------------------------------------------------------


@pytest.mark.parametrize(("value", "said"), [(np.nan, "not a number"), (np.inf, "infinite")])
def test_weights_that_are_not_finite_are_named_and_nothing_is_written(tmp_path, value, said):
    model, optimizer = small()
    checkpoint.save(tmp_path, model, optimizer, Position(step=1), "source")
    with torch.no_grad():
        model.bias[3] = value
    with pytest.raises(RarsError, match=f"'bias' became {said}: step 2 is not kept"):
        checkpoint.save(tmp_path, model, optimizer, Position(step=2), "source")
    assert [path.name for path in tmp_path.iterdir()] == ["step-000000001"]
    with pytest.raises(RarsError, match=f"'bias' became {said}: the model is not kept"):
        saving.check_finite(model.state_dict(), "the model is not kept")


def test_a_training_that_ends_in_no_numbers_ends_in_a_sentence(tmp_path, monkeypatch):
    """One step of a boundless learning rate has a finite loss and leaves weights that find nothing."""
    monkeypatch.setenv("RARS_CACHE", str(tmp_path / "cache"))
    app(f"data shop {tmp_path}/shop --size 100".split(), standalone_mode=False)
    words = TRAIN.replace("epochs=2", "epochs=1").replace("pairs=512", "pairs=100000")
    words += " --set training.learning_rate=1e38 --set training.warmup=0"
    with pytest.raises(RarsError, match="became (not a number|infinite)"):
        app(words.format(tmp_path, tmp_path / "run").split(), standalone_mode=False)
    assert not (tmp_path / "run" / "model").exists()
    assert not list((tmp_path / "run").rglob("step-*"))
