"""The gradient that TextAttack's white-box searches rank words by."""

from typing import Any

import numpy as np
import torch

from holdfast.adversary import attacking, look_up, run_on
from holdfast.errors import InputError
from holdfast.victim import ModelVictim, Victim
from holdfast.victim.reading import ID_MASK, TYPE_SHIFT


def token_gradient(victim: Victim, texts: tuple[str, ...]) -> dict[str, Any]:
    """Return the ids of a text's tokens, and (tokens, width) of the loss for the model's answer.

    TextAttack's own wrappers leave dropout on here; this does not.
    """
    model = _readable(victim)
    tokens = torch.tensor(model.tokenise([texts]), device=model.model.device)
    batch = {"input_ids": tokens & ID_MASK, "attention_mask": torch.ones_like(tokens)}
    if "token_type_ids" in model.tokenizer.model_input_names:
        batch["token_type_ids"] = tokens >> TYPE_SHIFT
    with attacking(model.model) as inner:
        vectors = look_up(inner, batch["input_ids"]).detach().requires_grad_()
        with torch.enable_grad():
            loss = -run_on(inner, batch, vectors).logits.float().log_softmax(1).max()
        (gradient,) = torch.autograd.grad(loss, vectors)
    ids: list[int] = batch["input_ids"][0].tolist()
    return {"ids": ids, "gradient": gradient[0].float().cpu().numpy().astype(np.float64)}


def token_names(victim: Victim, texts: tuple[str, ...]) -> list[str]:
    """Return the tokens of a text, as many as `token_gradient` has rows."""
    model = _readable(victim)
    (tokens,) = model.tokenise([texts])
    names: Any = model.tokenizer.convert_ids_to_tokens([token & ID_MASK for token in tokens])
    return list(names)


def _readable(victim: Victim) -> ModelVictim:
    if not isinstance(victim, ModelVictim):
        raise InputError(
            "This attack follows the gradient of a model, and the victim shows none: wrap a model, "
            "or use an attack that only asks."
        )
    if victim.canonical is not None:
        raise InputError(
            "The model reads other words than the text has (canonical.json), so TextAttack cannot "
            "tell which gradient belongs to which word; use an attack that only asks."
        )
    return victim
