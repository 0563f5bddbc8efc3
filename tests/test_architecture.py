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
    "arrays",
    "progress",
    "places",
    "checked",
    "disk",
    "replacing",
    "artifacts",
    "locks",
    "tensors",
    "unfinished",
    "scale",
    "config",
    "tree",
    "data",
    "systems",
    "evaluation",
    "checkpoints",
    "runs",
    "identifiers",
    "model",
    "objectives",
    "training",
    "search",
    "baselines",
    "analysis",
    "pipeline",
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


def runtime_imports(path: Path) -> set[str]:
    """Modules a file imports when it runs; what only the type checker sees is left out."""
    found: set[str] = set()

    def look(node: ast.AST) -> None:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {alias.name for alias in node.names}
            found.update(
                {f"rars.{name}" for name in names} if node.module == "rars" else {node.module}
            )
        for child in ast.iter_child_nodes(node):
            look(child)

    look(ast.parse(path.read_text(encoding="utf-8")))
    return found


PUBLIC = {"rars.Dataset", "rars.Recipe", "rars.Retriever", "rars.__version__"}
SPOKEN = (
    "rars.cli",
    "rars.pipeline",
    "rars.experiments",
    "rars.serving",
    "rars.errors",
    "rars.progress",
    "rars.scale",
)


@pytest.mark.parametrize("path", sorted((ROOT / "cli").glob("*.py")), ids=lambda p: p.stem)
def test_the_command_line_parses_and_prints_and_leaves_the_work_to_the_pipeline(path):
    for name in runtime_imports(path):
        top = name.split(".")[0]
        assert top not in {"numpy", "torch", "pyarrow", "transformers", "faiss"}, name
        if top == "rars":
            assert name in PUBLIC or name.startswith(SPOKEN), f"{path.stem} imports {name}"


def test_every_public_name_can_be_had_and_says_what_it_is():
    import rars

    assert 10 <= len(rars.__all__) <= 18
    for name in rars.__all__:
        assert name == "__version__" or getattr(rars, name).__doc__


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
