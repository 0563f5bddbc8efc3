"""A warning of ours is one line on the command line; those of libraries are left as they are."""

from __future__ import annotations

import warnings

from rars.cli import console
from rars.errors import RarsWarning


def test_a_warning_is_one_line_said_once(capsys):
    others = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_: others.append(str(message))
        console.show_warnings()
        for _ in range(2):
            warnings.warn("Nothing is kept.", RarsWarning, stacklevel=1)
        warnings.warn("another", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "rars: Nothing is kept.\n"
    assert others == ["another"]
