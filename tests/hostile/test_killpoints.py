"""A sample of ``killpoints``: whatever operation is a command's last, nothing is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CASES = ("data shop, again", "train bm25, again")


def test_a_command_that_dies_at_any_operation_leaves_the_old_or_the_new_and_goes_on():
    root = Path(__file__).parents[2]
    line = [sys.executable, "-m", "tests.hostile.killpoints", "--sample", "3", "--only", *CASES]
    done = subprocess.run(
        line, cwd=root, env=os.environ, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    table = {line[:20].strip(): line[20:].split() for line in done.stdout.splitlines()[1:]}
    assert table.keys() == set(CASES)
    assert all(int(points) > 20 and tried == "3" for points, tried, *_ in table.values())
