"""What the commands of ``tests.command`` have imported before they start."""

import accelerate  # noqa: F401
import pandas  # noqa: F401
import safetensors.torch  # noqa: F401
import torch
import transformers.models.t5.modeling_t5  # noqa: F401

import rars.cli
import rars.pipeline.evaluation
import rars.pipeline.training
import rars.search.retriever
import rars.search.tuning  # noqa: F401

torch.set_num_threads(1)
