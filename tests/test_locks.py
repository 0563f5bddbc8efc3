"""One process at a time changes a folder; who comes second is told who is there, and leaves no trace."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from rars import locks
from rars.errors import RarsError

HOLDER = """
import sys
from rars import locks
with locks.held(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock of ``tmp_path/run`` until it is told to end."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "run")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.stdin.close()
    process.wait()


def test_a_taken_folder_is_refused_by_the_name_of_its_holder(tmp_path, holder):
    assert not locks.is_free(tmp_path / "run")
    with pytest.raises(RarsError) as error, locks.held(tmp_path / "run"):
        pass
    said = str(error.value)
    assert f"is being changed by process {holder.pid} (" in said
    assert str(tmp_path / "run") in said
    assert "\n" not in said


def test_another_name_of_the_same_folder_is_the_same_folder(tmp_path, holder):
    (tmp_path / "link").symlink_to("run")
    with pytest.raises(RarsError, match="is being changed"), locks.held(tmp_path / "link"):
        pass


def test_a_killed_holder_holds_nothing(tmp_path, holder):
    holder.kill()
    holder.wait()
    assert locks.is_free(tmp_path / "run")
    with locks.held(tmp_path / "run"):
        assert not locks.is_free(tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_who_waits_has_the_folder_next(tmp_path, holder):
    threading.Timer(0.3, lambda: holder.stdin.write("done\n") and holder.stdin.flush()).start()
    with locks.held(tmp_path / "run", wait=True):
        assert holder.wait(timeout=10) == 0


def test_a_process_enters_again_what_it_holds_and_leaves_no_trace(tmp_path):
    place = tmp_path / "new" / "deeper" / "run"
    with locks.held(place):
        with locks.held(str(place)):
            assert not locks.is_free(place)
        assert not locks.is_free(place)
    assert locks.is_free(place)
    assert not list(tmp_path.iterdir())


def test_of_several_processes_that_train_together_the_first_one_holds_it(
    tmp_path, holder, monkeypatch
):
    monkeypatch.setenv("RANK", "1")
    with locks.held(tmp_path / "run"):
        pass


def test_many_processes_are_never_in_a_folder_at_once(tmp_path):
    """Each adds 1 to a number fifty times; were two of them in there together, some would be lost."""
    code = (
        "import sys; from pathlib import Path; from rars import locks\n"
        "path = Path(sys.argv[1]) / 'count'\n"
        "for _ in range(50):\n"
        "    with locks.held(path, wait=True):\n"
        "        path.write_text(str(int(path.read_text()) + 1))\n"
    )
    (tmp_path / "count").write_text("0")
    line = [
        sys.executable,
        "-c",
        f"import rars.locks\nrars.locks._TICK = 0.0005\n{code}",
        str(tmp_path),
    ]
    for process in [subprocess.Popen(line, env=os.environ) for _ in range(3)]:
        assert process.wait(timeout=60) == 0
    assert (tmp_path / "count").read_text() == "150"
