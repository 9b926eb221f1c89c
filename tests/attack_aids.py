"""Tiny models, vectors and a WordNet that attacks lean on, written to a folder by seed."""

from pathlib import Path

import text_tokenizers as kinds
import torch
from torch import nn
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedModel,
)

TINY = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
TINY |= {"intermediate_size": 32, "max_position_embeddings": 64}
# part of speech: lemma -> (synonyms, how often the concordance met it)
DICTIONARY = {
    "noun": {"film": (["movie", "picture"], 9), "plot": (["story"], 3), "run": (["tally"], 2)},
    "verb": {"film": (["shoot"], 1), "run": (["operate", "dash"], 20), "love": (["adore"], 9)},
    "adj": {"good": (["fine", "decent"], 40), "great": (["outstanding"], 8), "dull": ([], 3)},
    "adv": {"well": (["good"], 30)},
}
_NUMBERS = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}


def write_dictionary(folder: Path) -> Path:
    """A WordNet with counts and irregular forms; synonyms are lemmas of their own, met once."""
    folder.mkdir(parents=True, exist_ok=True)
    senses = []
    for part, lemmas in DICTIONARY.items():
        synsets = {n: [word, *same] for n, (word, (same, _)) in enumerate(lemmas.items(), start=1)}
        index: dict[str, list[int]] = {}
        for number, words in synsets.items():
            for word in words:
                index.setdefault(word, []).append(number)
        data = [
            f"{n:08} 10 n {len(words):02x} {' '.join(f'{w} 0' for w in words)} 000 | gloss\n"
            for n, words in synsets.items()
        ]
        lines = [
            f"{word} n {len(ns)} 0 {len(ns)} 0 {' '.join(f'{n:08}' for n in ns)}  \n"
            for word, ns in index.items()
        ]
        (folder / f"data.{part}").write_text("".join(data))
        (folder / f"index.{part}").write_text("".join(lines))
        counts = {word: lemmas[word][1] if word in lemmas else 1 for word in index}
        senses += [f"{w}%{_NUMBERS[part]}:00:00:: 00000001 1 {n}\n" for w, n in counts.items()]
    (folder / "index.sense").write_text("".join(senses))
    (folder / "verb.exc").write_text("ran run\n")
    return folder


def write_vectors(file: Path) -> Path:
    vectors = {"good": (1, 0), "fine": (0.9, 0.1), "bad": (0, 1), "film": (-1, 0.1)}
    lines = [f"{word} {x} {y}\n" for word, (x, y) in vectors.items()]
    file.write_text("4 2\n" + "".join(lines))
    return file


def encoder(folder: Path) -> Path:
    return _saved(BertModel(_bert()), kinds.wordpiece(), folder)


def masked(folder: Path) -> Path:
    tokenizer = kinds.wordpiece()
    tokenizer.add_special_tokens({"mask_token": "[MASK]"})
    return _saved(BertForMaskedLM(_bert(len(tokenizer))), tokenizer, folder)


def causal(folder: Path) -> Path:
    tokenizer = kinds.byte_bpe(trim=False)
    shape = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 64}
    ids = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    config = GPT2Config(vocab_size=len(tokenizer), **shape, **ids)
    return _saved(GPT2LMHeadModel(config), tokenizer, folder)


def _bert(vocabulary: int | None = None) -> BertConfig:
    torch.manual_seed(0)
    return BertConfig(vocab_size=vocabulary or len(kinds.wordpiece()), pad_token_id=0, **TINY)


def _saved(model: PreTrainedModel, tokenizer: object, folder: Path) -> Path:
    torch.manual_seed(1)
    for parameter in model.parameters():
        if parameter.dim() == 2:
            nn.init.normal_(parameter, std=0.5)
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
