"""What the tests of a hostile terminal share: words that bite, every command there is, and processes.

Run as a script, it goes through every command inside one process (``python terminal.py RESULT WORD...``), as
the console script would: what the process prints is printed, and the exit codes are written to RESULT.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SOURCES = str(Path(__file__).parents[2] / "src")

BITES = (
    "\x1b[31mred\x1b[0m",
    "\x1b]8;;http://example.com\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]52;c;cm0gLXJm\x07",
    "bell\x07 back\x08\x08 return\rrars: all is well",
    "\x9b31m C1 \x85 next line",
    "line\nrars: another message\tand a tab",
    "\u202egnirts\u202c \u2066isolated\u2069 \u200emark\u200f \u061c",
    "\u2028separators\u2029 \x00 \x7f",
    "half \ud83d and a byte \udcff",
    "[/bold] [red]markup[/red] [link=http://example.com]x[/link] :bug:",
)
"""Words that move the cursor, hide, lie or break a markup; none may reach a terminal as they are."""

SCRIPTS = (
    "日本語のタイトル カタカナ",
    "كتاب عربي",
    "ספר בעברית",
    "हिन्दी पुस्तक क्‍ष",
    "👩‍👩‍👧 👍🏽 🏴󠁧󠁢󠁥󠁮󠁧󠁿 e\u0301",
    "naïve café – “quoted” 10 €\u00a0",
)
"""Text that people write, joiners and all; it is shown as it is."""

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""What may not be in the output, but for line breaks and tabs."""


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command and group of the app, by its words."""
    from typer.main import get_command

    from rars.cli import app

    def walk(words: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
        yield words, command
        for name, below in getattr(command, "commands", {}).items():
            yield from walk((*words, name), below)

    yield from walk((), get_command(app))


def environment(**changes: str | None) -> dict[str, str]:
    """This process's environment with changes; None takes a variable away."""
    merged = {**os.environ, "PYTHONPATH": SOURCES, "OMP_NUM_THREADS": "1", **changes}
    return {name: value for name, value in merged.items() if value is not None}


def rars(*words: str | bytes | Path, env: dict[str, str] | None = None, **more: Any) -> Any:
    """``python -m rars WORDS``, and what came of it, in bytes."""
    return python("-m", "rars", *words, env=env, **more)


def python(*words: str | bytes | Path, env: dict[str, str] | None = None, **more: Any) -> Any:
    """A Python process, and what came of it, in bytes."""
    more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
    return subprocess.run(
        [sys.executable, *words], env=env or environment(), check=False, timeout=120, **more
    )


def shell(line: str, **more: Any) -> Any:
    """A line of the shell in which $PYTHON is this Python."""
    env = more.pop("env", None) or environment()
    return subprocess.run(
        ["/bin/sh", "-c", line],
        env={**env, "PYTHON": sys.executable},
        capture_output=True,
        check=False,
        timeout=120,
        **more,
    )


def sound(done: Any, *codes: int) -> None:
    """No traceback, and one of the exit codes."""
    said = (done.stderr or b"").decode(errors="replace")
    assert "Traceback" not in said, said
    assert done.returncode in (codes or (0, 2)), (done.returncode, said)


def bitten(folder: Path) -> None:
    """Three tables in which every word bites; what JSON lines cannot hold is left out."""
    words = [word.translate({0xD83D: None, 0xDCFF: None}) for word in BITES]
    items = [
        {"id": f"i{n}{word}", "title": f"mug {word}", "brand": word, "category": f"{word} > {word}"}
        for n, word in enumerate(words)
    ]
    queries = [{"id": f"q{n}{word}", "text": f"mug {word}"} for n, word in enumerate(words)]
    judgments = [
        {"query_id": query["id"], "item_id": item["id"], "label": "E"}
        for query, item in zip(queries, items, strict=True)
    ]
    for name, rows in (("items", items), ("queries", queries), ("judgments", judgments)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")


def call(words: list[str]) -> Any:
    """Run the command line in this process; its exit code."""
    import rars.cli

    sys.argv = ["rars", *words]
    try:
        rars.cli.main()
    except SystemExit as end:
        return end.code


def main(result: str, words: list[str]) -> None:
    """Every command with each of these words after it, or the command lines of a JSON list."""
    if words[0].startswith("["):
        codes: Any = [call(line) for line in json.loads(words[0])]
    else:
        names = [name for name, _ in commands()]
        codes = {word: {" ".join(name): call([*name, word]) for name in names} for word in words}
    Path(result).write_text(json.dumps(codes), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
