"""Commands and functions in processes of their own, without the seconds that importing torch takes each.

Owns: one server per test worker that has imported what commands use; every process is a fork of it, with its
own output, environment and folder, and can be killed. What depends on how Python itself starts (locale,
terminal, launchers, isolation) is tested with real ``python -m rars`` in ``tests/hostile``.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.preloaded"])


class Started:
    """A process that was started, as ``subprocess.Popen`` would show it."""

    def __init__(
        self, work: Callable[..., Any], *args: Any, env: Any = None, cwd: Any = None
    ) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._out, self._err = (Path(self._folder.name) / name for name in ("out", "err"))
        around = (dict(os.environ if env is None else env), os.fspath(cwd or Path.cwd()))
        self._process = _CONTEXT.Process(
            target=_child, args=(work, args, *around, str(self._out), str(self._err))
        )
        self._process.start()

    @property
    def pid(self) -> int:
        """Its number."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """How it ended, or None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """How it ended, or None while it runs."""
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal to it, if it still runs."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def wait(self, timeout: float = 180) -> int:
        """How it ended, once it has."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
            raise subprocess.TimeoutExpired("a forked process", timeout)
        return self._process.exitcode

    def communicate(self, timeout: float = 180) -> tuple[str, str]:
        """What it wrote, once it has ended."""
        self.wait(timeout)
        out, err = (path.read_text(encoding="utf-8") for path in (self._out, self._err))
        return out, err


def start(*words: Any, env: Any = None, cwd: Any = None) -> Started:
    """``rars WORDS``, started."""
    return Started(_command, [str(word) for word in words], env=env, cwd=cwd)


def rars(
    *words: Any, env: Any = None, cwd: Any = None, timeout: float = 180
) -> subprocess.CompletedProcess[str]:
    """``rars WORDS``, and what came of it."""
    process = start(*words, env=env, cwd=cwd)
    out, err = process.communicate(timeout)
    return subprocess.CompletedProcess(["rars", *words], process.wait(), out, err)


def _child(
    work: Callable[..., Any], args: tuple[Any, ...], env: dict[str, str], cwd: str, *files: str
) -> None:
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    for number, path in enumerate(files, 1):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(opened, number)
        os.close(opened)
    work(*args)


def _command(words: list[str]) -> None:
    import rars.cli

    sys.argv = ["rars", *words]
    rars.cli.main()
