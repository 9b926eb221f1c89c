"""What of a model and its tokenizer decides about answers, and is the same wherever it is loaded.

Words alone do not tell tokenizers apart: one may lower what it reads, or give the words other ids.
Nor do weights alone tell models apart: the same ones are read with two attention heads or four.
"""

import json
from typing import Any

from transformers import AddedToken, PreTrainedModel, PreTrainedTokenizerBase

# where a model came from, how it is stored, and what its classes are called
_OF_NO_ANSWER = {
    *("_name_or_path", "transformers_version", "torch_dtype", "dtype", "architectures"),
    *("id2label", "label2id", "problem_type", "use_cache"),
}
_OF_LOADING = {
    *("name_or_path", "backend", "is_local", "local_files_only", "model_max_length"),
    *("tokenizer_class", "processor_class"),
}


def model_settings(model: PreTrainedModel) -> dict[str, Any]:
    """Return how a model uses its weights."""
    told: dict[str, Any] = json.loads(model.config.to_json_string(use_diff=True))
    return _answering(told)


def _answering(told: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _answering(value) if isinstance(value, dict) else value
        for name, value in told.items()
        if name not in _OF_NO_ANSWER
    }


def tokenizer_settings(tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    """Return how a tokenizer makes ids of texts; what it is told for each call is left out."""
    backend: Any = getattr(tokenizer, "backend_tokenizer", None)
    return {
        "truncation_side": tokenizer.truncation_side,
        "inputs": list(tokenizer.model_input_names),
        "unknown": str(tokenizer.unk_token),  # it hides words, and not only those it replaces
        "cuts": _slow(tokenizer) if backend is None else _fast(backend),
    }


def _fast(backend: Any) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(backend.to_str())
    # every call sets them anew, so they are those of the last one
    return {name: value for name, value in told.items() if name not in ("padding", "truncation")}


def _slow(tokenizer: PreTrainedTokenizerBase) -> dict[str, Any]:
    """Return the vocabulary and the settings of a tokenizer that is written in Python."""
    settings = {
        name: str(value)  # a token is loaded as a plain word, or with flags it had by default
        for name, value in tokenizer.init_kwargs.items()
        if isinstance(value, str | bool | int | float | AddedToken)
        and name not in _OF_LOADING
        and not name.endswith("_file")
    }
    merges = getattr(tokenizer, "bpe_ranks", {})  # in their order, where it has any
    vocabulary = sorted(tokenizer.get_vocab().items())
    return {"vocabulary": vocabulary, "merges": list(map(str, merges)), "settings": settings}
