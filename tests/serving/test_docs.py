"""docs/serving.md: every curl command is run against a real server."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rars.serving.keys import Keys
from tests.serving.running import running

PAGE = Path(__file__).parents[2] / "docs" / "serving.md"
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_every_command_of_the_page_works_as_written(run, tmp_path):
    known, key = Keys().added("office", "admin")
    with running(run, state=tmp_path / "state", keys=known, deadline_ms=60_000) as server:
        given = os.environ | {"URL": server.url, "KEY": key}
        for block in BLOCKS:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", block],
                cwd=tmp_path,
                env=given,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        paths = server.client.get("/openapi.json").json()["paths"]
    assert (tmp_path / "judgments.csv").read_text().count("P0000001") == 1
    for path in paths:
        named = path.split("{")[0].rstrip("/")
        assert any(f"$URL{named}" in block for block in BLOCKS), f"{path} is not on the page"
