"""The hunt itself: what goes wrong is counted once, kept, and ends in exit code 1; a death is no end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

HUNT = """
import os, signal, subprocess, sys
from pathlib import Path
from types import SimpleNamespace
from rars.errors import RarsError
from tests.hostile import __main__ as hunting, found
from tests.hostile.case import Case

def refused(): raise RarsError("No.")
def wrong(): raise KeyError("oz")
def deadly(): os.kill(os.getpid(), signal.SIGSEGV)
def started(): subprocess.run(["true"])

def area(*works):
    def cases(rng):
        while True:
            for work in works:
                yield Case("a case", work, {"text": "x"} if work is wrong else None)
    return SimpleNamespace(cases=cases)

found.FOLDER = Path(sys.argv.pop(1))
found.AREAS = {"texts": area(refused, wrong), "tables": area(refused, deadly), "recipes": area(started)}
found.AREAS["queries"] = area(refused)
hunting.killpoints.load = lambda: None
sys.exit(hunting.main())
"""


def hunted(folder, *areas):
    line = [sys.executable, "-c", HUNT, str(folder), *areas, "--minutes", "0.02", "--seed", "7"]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        line, cwd=root, env=os.environ, capture_output=True, text=True, check=False, timeout=120
    )
    table = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line}
    kept = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    return done, table, kept


def test_a_defect_is_counted_once_and_kept(tmp_path):
    done, table, [kept] = hunted(tmp_path, "texts")
    assert done.returncode == 1
    assert table["texts"][2] == "1"
    assert kept == {"area": "texts", "error": "KeyError: 'oz'", "given": {"text": "x"}}
    assert "KeyError" in done.stdout


def test_a_process_that_is_torn_down_is_a_defect_of_its_case(tmp_path):
    done, table, kept = hunted(tmp_path, "tables", "queries")
    assert done.returncode == 1
    assert int(table["queries"][0].replace(",", "")) > 1  # it went on
    assert {"seed": 7, "number": 1}.items() <= kept[0].items()
    assert "ended with -11" in kept[0]["error"]


def test_code_that_is_executed_is_said(tmp_path):
    done, _, kept = hunted(tmp_path, "recipes")
    assert (done.returncode, kept) == (1, [])
    assert "subprocess.Popen ('true',)" in done.stdout  # with the program's name


def test_nothing_found_is_exit_code_0(tmp_path):
    done, table, kept = hunted(tmp_path, "queries")
    assert (done.returncode, kept) == (0, [])
    assert table["queries"][0] == table["queries"][1]
    assert "code executed: none" in done.stdout
