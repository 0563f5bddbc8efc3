"""The house keeps its floors: a folder imports only from those above it, and the tree needs NumPy alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "rars"

FLOORS = [
    "errors",
    "artifacts",
    "config",
    "tree",
    "data",
    "runs",
    "identifiers",
    "model",
    "objectives",
    "training",
    "search",
    "baselines",
    "evaluation",
    "analysis",
    "experiments",
    "serving",
    "cli",
]
"""Top first: what a floor stands on is above it in this list (docs/decisions.md says why in this order)."""


def imported(path: Path) -> set[str]:
    """Names of the floors a file imports from."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "rars":
                found |= {alias.name for alias in node.names}
            elif node.module.startswith("rars."):
                found.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("rars.")}
    return found & set(FLOORS)


@pytest.mark.parametrize("floor", FLOORS)
def test_a_floor_imports_only_from_floors_above(floor):
    files = [ROOT / f"{floor}.py", *(ROOT / floor).rglob("*.py")]
    allowed = set(FLOORS[: FLOORS.index(floor) + 1])
    for path in (p for p in files if p.exists()):
        assert imported(path) <= allowed, f"{path.relative_to(ROOT)} imports from below"


def test_every_folder_has_its_floor():
    folders = {p.name for p in ROOT.iterdir() if p.is_dir() and (p / "__init__.py").exists()}
    modules = {p.stem for p in ROOT.glob("*.py")} - {"__init__", "__main__"}
    assert folders | modules <= set(FLOORS)


def test_the_tree_needs_numpy_alone():
    code = (
        "import sys; import rars.tree; "
        "heavy = {'torch', 'pyarrow', 'faiss', 'pydantic', 'transformers', 'scipy'} & set(sys.modules); "
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_nothing_is_pickled_or_evaluated():
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {a.name for a in node.names} | {getattr(node, "module", None)}
                assert not names & {"pickle", "dill", "joblib", "cloudpickle"}, path
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in {"eval", "exec", "torch.load", "torch.save"}, path
