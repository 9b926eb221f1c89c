"""OpenAttack's attackers on the texts, the words and the model it is told of."""

from typing import Any

import numpy as np
import OpenAttack
import torch
from nltk import WordPunctTokenizer
from OpenAttack.attack_assist.substitute.word import WordSubstitute
from OpenAttack.attackers import GeneticAttacker, PWWSAttacker
from OpenAttack.exceptions import WordNotInDictionaryException
from OpenAttack.tags import TAG_English
from OpenAttack.text_process.tokenizer import Tokenizer
from OpenAttack.victim.classifiers import TransformersClassifier
from side import Attacked, AttackOne, Job, Passes, load, measured, serve


class PlainTokenizer(Tokenizer):
    """OpenAttack's own words; its part-of-speech tagger needs a download and is not asked."""

    TAGS = {TAG_English}  # noqa: RUF012 - as the library declares it

    def do_tokenize(self, x: str, pos_tagging: bool = True) -> list[Any]:
        """Return the words, with a tag where tags are wanted."""
        words = WordPunctTokenizer().tokenize(x)
        return [(word, "other") for word in words] if pos_tagging else words

    def do_detokenize(self, x: list[str]) -> str:
        """Return the text."""
        return " ".join(x)


class LexiconSubstitute(WordSubstitute):
    """The neighbours of a word in a lexicon."""

    TAGS = {TAG_English}  # noqa: RUF012 - as the library declares it

    def __init__(self, lexicon: dict[str, list[str]]) -> None:
        self.lexicon = lexicon

    def substitute(self, word: str, pos: str) -> list[tuple[str, float]]:
        """Return them, all equally near."""
        if word not in self.lexicon:
            raise WordNotInDictionaryException
        return [(neighbour, 1.0) for neighbour in self.lexicon[word]]


class ForwardOnly(OpenAttack.Classifier):
    """The model without the backward pass that OpenAttack's own class adds to every query."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model, self.words = model, tokenizer

    def get_prob(self, input_: list[str]) -> np.ndarray:
        """Return the probabilities, 32 texts at a time."""
        found = []
        for at in range(0, len(input_), 32):
            inputs = self.words(
                input_[at : at + 32],
                padding=True,
                truncation=True,
                max_length=512,
                return_tensors="pt",
            )
            with torch.no_grad():
                found.append(self.model(**inputs).logits.softmax(-1).numpy())
        return np.concatenate(found)

    def get_pred(self, input_: list[str]) -> np.ndarray:
        """Return the classes."""
        return self.get_prob(input_).argmax(axis=1)


def attacker_of(job: Job, setting: Job) -> Any:
    """Return OpenAttack's attacker."""
    told = {
        "tokenizer": PlainTokenizer(),
        "substitute": LexiconSubstitute(setting["lexicon"]),
        "filter_words": setting["stop_words"],
    }
    if job["attack"] == "pwws":
        return PWWSAttacker(token_unk="[UNK]", **told)
    return GeneticAttacker(pop_size=job["population"], max_iters=job["iterations"], **told)


def attack_with(attacker: Any, victim: Any) -> AttackOne:
    """Return the attack on one text."""

    def attack_one(text: str, label: int) -> Attacked:
        victim.set_context({"x": text}, None)
        adversarial = attacker(victim, {"x": text})
        queries = victim.context.invoke
        victim.clear_context()
        return {"adversarial": adversarial, "queries": queries}

    return attack_one


def begin(setting: Job) -> Any:
    """Load the model; return what a job is answered by."""
    model, tokenizer = load(setting["model"])
    passes = Passes(model)

    def work(job: Job) -> Job:
        np.random.seed(job["seed"])
        if job["wrapper"] == "as shipped":
            embeddings = model.get_input_embeddings()
            victim: Any = TransformersClassifier(model, tokenizer, embeddings)
        else:
            victim = ForwardOnly(model, tokenizer)
        result = measured(attack_with(attacker_of(job, setting), victim), job["texts"], passes)
        if job["wrapper"] == "as shipped":
            victim.hook.remove()
        return result

    return work


if __name__ == "__main__":
    serve(("OpenAttack", "transformers", "torch", "numpy"), begin)
