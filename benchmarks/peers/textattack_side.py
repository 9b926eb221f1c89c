"""TextAttack's searches on the texts, the words and the model it is told of."""

import random
from typing import Any

import numpy as np
import torch
from side import Attacked, AttackOne, Job, Passes, load, measured, serve
from textattack import Attack
from textattack.attack_results import SuccessfulAttackResult
from textattack.constraints.overlap import MaxWordsPerturbed
from textattack.constraints.pre_transformation import RepeatModification, StopwordModification
from textattack.goal_functions import UntargetedClassification
from textattack.models.wrappers import HuggingFaceModelWrapper
from textattack.search_methods import AlzantotGeneticAlgorithm, GreedyWordSwapWIR
from textattack.transformations import WordSwap


class DynamicPadding(HuggingFaceModelWrapper):
    """TextAttack's wrapper, but a batch is as wide as its longest text and not 512 tokens."""

    def __call__(self, text_input_list: list[str]) -> torch.Tensor:
        """Return the logits of some texts."""
        inputs = self.tokenizer(
            text_input_list, padding=True, truncation=True, max_length=512, return_tensors="pt"
        )
        with torch.no_grad():
            logits: torch.Tensor = self.model(**inputs).logits
        return logits


class WordSwapLexicon(WordSwap):
    """Replaces a word by its neighbours in a lexicon."""

    def __init__(self, lexicon: dict[str, list[str]]) -> None:
        super().__init__()
        self.lexicon = lexicon

    def _get_replacement_words(self, word: str) -> list[str]:
        return self.lexicon.get(word, [])


def search(job: Job) -> Any:
    """Return the search method of TextAttack's own recipe."""
    if job["attack"] == "pwws":
        return GreedyWordSwapWIR("weighted-saliency")  # PWWSRen2019
    return AlzantotGeneticAlgorithm(  # FasterGeneticAlgorithmJia2019
        pop_size=job["population"], max_iters=job["iterations"], post_crossover_check=False
    )


def constraints(job: Job, stop_words: list[str]) -> list[Any]:
    """Return those of the recipe that need no model."""
    limit = [MaxWordsPerturbed(max_percent=job["share"])] if job["share"] else []
    return [RepeatModification(), StopwordModification(stop_words), *limit]


def attacker(attack: Attack) -> AttackOne:
    """Return the attack on one text."""

    def attack_one(text: str, label: int) -> Attacked:
        result = attack.attack(text, label)
        success = isinstance(result, SuccessfulAttackResult)
        adversarial = result.perturbed_result.attacked_text.text if success else None
        return {"adversarial": adversarial, "queries": result.num_queries}

    return attack_one


def begin(setting: Job) -> Any:
    """Load the model; return what a job is answered by."""
    model, tokenizer = load(setting["model"])
    passes = Passes(model)
    wrappers = {"as shipped": HuggingFaceModelWrapper, "forward": DynamicPadding}

    def work(job: Job) -> Job:
        random.seed(job["seed"])
        np.random.seed(job["seed"])
        wrapper = wrappers[job["wrapper"]](model, tokenizer)
        attack = Attack(
            UntargetedClassification(wrapper),
            constraints(job, setting["stop_words"]),
            WordSwapLexicon(setting["lexicon"]),
            search(job),
        )
        return measured(attacker(attack), job["texts"], passes)

    return work


if __name__ == "__main__":
    serve(("textattack", "transformers", "torch", "numpy"), begin)
