"""A checkpoint is data: what it brings or names as code is never run, and nobody is asked."""

from __future__ import annotations

import builtins
import json

import pytest

from rars.checkpoints import located
from rars.errors import RarsError
from rars.identifiers import open_embedder
from rars.model import backbone
from rars.model.tokenizer import pretrained_tokenizer
from tests.model.test_saving import checkpoint

CODE = """
from pathlib import Path
Path({marker!r}).touch()
from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerFast
class OwnConfig(PretrainedConfig):
    model_type = "own"
class OwnModel(PreTrainedModel):
    config_class = OwnConfig
class OwnTokenizer(PreTrainedTokenizerFast):
    pass
class OwnModule:
    pass
"""


@pytest.fixture
def own_code(tmp_path, monkeypatch):
    """A folder that needs its own code, and the file that running it would leave behind."""
    folder, marker = tmp_path / "own", tmp_path / "was-run"
    checkpoint(folder, "bert")
    (folder / "own.py").write_text(CODE.format(marker=str(marker)))
    config = json.loads((folder / "config.json").read_text())
    config["model_type"] = "own"
    config["auto_map"] = {"AutoConfig": "own.OwnConfig", "AutoModel": "own.OwnModel"}
    (folder / "config.json").write_text(json.dumps(config))
    path = folder / "tokenizer_config.json"
    facts = json.loads(path.read_text()) | {"tokenizer_class": "OwnTokenizer"}
    path.write_text(json.dumps(facts | {"auto_map": {"AutoTokenizer": ["own.OwnTokenizer"] * 2}}))
    # The answer that a person in a hurry gives.
    monkeypatch.setattr(builtins, "input", lambda *_: "yes")
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    return folder, marker


@pytest.mark.parametrize(
    "open_it",
    [
        lambda name: backbone.check(f"t5:{name}"),
        lambda name: backbone.checkpoint(name),
        lambda name: backbone.encoder_only(name),
        lambda name: pretrained_tokenizer(name, 16),
        lambda name: open_embedder(f"t5:{name}"),
        lambda name: open_embedder(f"sentence-transformers:{name}"),
    ],
    ids=["check", "t5", "encoder", "tokenizer", "t5 embedder", "sentence-transformers"],
)
def test_code_of_a_checkpoint_is_not_run(own_code, open_it):
    folder, marker = own_code
    with pytest.raises(RarsError, match="it needs code of its own, which is not run"):
        open_it(str(folder))
    assert not marker.exists()


def test_modules_that_a_folder_of_sentence_transformers_names_are_not_imported(own_code):
    pytest.importorskip("sentence_transformers")
    folder, marker = own_code
    modules = [{"idx": 0, "name": "0", "path": "", "type": "own.OwnModule"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(RarsError, match=r"code of its own, which is not run \(own.OwnModule\)"):
        open_embedder(f"sentence-transformers:{folder}")
    (folder / "modules.json").write_text('{"no": "list"}')
    with pytest.raises(RarsError, match="modules.json does not list the modules"):
        open_embedder(f"sentence-transformers:{folder}")
    assert not marker.exists()


@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
def test_an_attention_kernel_is_not_fetched(tmp_path, key):
    checkpoint(tmp_path, "t5")
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: "someone/kernel"}))
    with pytest.raises(RarsError, match="attention 'someone/kernel'"):
        backbone.checkpoint(str(tmp_path))
    with pytest.raises(RarsError, match="attention 'someone/kernel'"):
        open_embedder(f"t5:{tmp_path}")


@pytest.mark.parametrize("first", ["", "."])
def test_a_package_is_not_looked_for_in_the_current_folder(tmp_path, monkeypatch, first):
    (tmp_path / "planted" / "model").mkdir(parents=True)
    (tmp_path / "planted" / "__init__.py").write_text("raise SystemError('was imported')")
    (tmp_path / "planted-1.0.dist-info").mkdir()
    (tmp_path / "planted-1.0.dist-info" / "top_level.txt").write_text("planted")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path) if first == "." else first)
    with pytest.raises(RarsError, match="'planted', which should hold a model, is not installed"):
        located("package:planted")


@pytest.mark.parametrize("name", ["a.b", "..", "", "json", "a/b", "sys"])
def test_what_is_no_installed_package_is_one_sentence(name):
    with pytest.raises(RarsError, match="is not installed"):
        located(f"package:{name}")
