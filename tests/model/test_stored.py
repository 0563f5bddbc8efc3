"""A stored configuration that lies is one sentence with file and field, before anything is allocated."""

from __future__ import annotations

import json

import pytest

from rars.errors import RarsError
from rars.model import saving
from rars.model.backbone import plain
from tests.model.test_saving import built, checkpoint


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A saved model of a T5, and one of another encoder, which the library rebuilds."""
    home = tmp_path_factory.mktemp("models")
    for kind, family in {"t5": "t5", "encoder": "bert"}.items():
        checkpoint(home / "checkpoint" / kind, family)
        _, ready = built(home / "checkpoint" / kind, kind)
        (home / kind).mkdir()
        saving.save(ready, home / kind)
    return home


@pytest.fixture(params=["t5", "encoder"])
def changed(request, models):
    """A function that loads the model with one field of its configuration changed."""
    folder = models / request.param
    original = (folder / "config.json").read_text()

    def load(path, value):
        config = json.loads(original)
        *above, last = path.split(".")
        place = config
        for key in above:
            place = place[key]
        if value is KeyError:
            del place[last]
        else:
            place[last] = value
        (folder / "config.json").write_text(json.dumps(config))
        return saving.load(folder)

    yield load
    (folder / "config.json").write_text(original)


HUGE = 10**12


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *(("sizes", value) for value in ("abc", 4, [], ["4"], [0], [-1], [2.5], [True], [HUGE])),
        *(("sizes", value) for value in (None, [2**30, 2**30], [[1]], [float("nan")])),
        *(("ends", value) for value in ([1, 0], [], "ab", None)),
        *(("categories", value) for value in (7, [2**30], [None])),
        *(("vector", value) for value in (-1, 1.5, "8", HUGE, True)),
        *(("prior", value) for value in (-1, 2**31 - 1, None)),
        *(("prior_form", value) for value in (3, "eval")),
        *(("embedder", value) for value in (3, None, ["use"])),
        *(("tokenizer", value) for value in (None, {}, {"pad": 0, "end": None, "max_tokens": 0})),
        *(("tokenizer.max_tokens", value) for value in ("8", 0, HUGE, KeyError)),
        *(("tokenizer.pad", value) for value in (-1, 1.0, None)),
        *(("tokenizer.end", value) for value in (-1, "1", HUGE)),
        *(("backbone", value) for value in (None, [], "t5", {})),
        *(("backbone.encoder", value) for value in (None, [], {}, {"model_type": "nothing"})),
        ("backbone.encoder.model_type", 3),
        ("backbone.encoder.vocab_size", HUGE),
        ("backbone.encoder.vocab_size", 2**31 - 1),
        ("backbone.encoder.vocab_size", "many"),
        ("backbone.encoder.hidden_size", HUGE),
        ("backbone.encoder.d_model", 2**25),
        ("backbone.encoder.d_ff", True),
        ("backbone.encoder.num_layers", 10**6),
        ("backbone.encoder.layer_norm_epsilon", 1e300),
        ("backbone.layers", 0),
        ("backbone.layers", "2"),
    ],
)
def test_a_wrong_field_is_one_sentence(changed, path, value):
    with pytest.raises(RarsError, match=r"config\.json") as caught:
        changed(path, value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("path", ["tokenizer.pad", "tokenizer.end"])
def test_a_token_that_the_tokenizer_has_not_is_one_sentence(changed, path):
    with pytest.raises(RarsError, match=r"tokenizer\.json has 2?[0-9]{2} tokens, and none is"):
        changed(path, 10**6)


@pytest.mark.parametrize("name", ["_attn_implementation", "attn_implementation"])
def test_stored_behaviour_is_refused_or_left_out(models, name):
    config = json.loads((models / "encoder" / "config.json").read_text())["backbone"]["encoder"]
    with pytest.raises(RarsError, match="is code of its own, which is not run"):
        plain(config | {name: "someone/kernel"})
    with pytest.raises(RarsError, match="is code of its own"):
        plain(config | {"sub": {name: "someone/kernel"}})
    with pytest.raises(RarsError, match="quantization_config"):
        plain(config | {"quantization_config": {"quant_method": "x"}})
    kept = plain(config | {"auto_map": {"AutoModel": "own.Own"}, "surprise": 1, name: "sdpa"})
    assert not {"auto_map", "surprise", name} & kept.keys()
    assert kept["hidden_size"] == config["hidden_size"]


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "9" * 5000, "[]", "null", ""])
def test_a_configuration_that_is_none_is_one_sentence(tmp_path, text):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(RarsError, match=r"config\.json"):
        saving.load(tmp_path)
