"""A Hugging Face classifier as a victim: texts to tokens, tokens to full batches, one at a time."""

import hashlib
import json
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from holdfast.data import ensure_padding
from holdfast.implicit import Connected, connected
from holdfast.record import encode as plain_values
from holdfast.text import CanonicalMap, Words
from holdfast.text.two_readings import Blend
from holdfast.victim.classes import require_classes
from holdfast.victim.distant import DistantSession, DistantVictim, Receive, Send
from holdfast.victim.fingerprint import model_settings, tokenizer_settings
from holdfast.victim.lanes import Batch, Lanes, Shape
from holdfast.victim.model_session import ModelSession, token_rows
from holdfast.victim.pieces import Pieces
from holdfast.victim.precision import NOISE, Precision, require_weights
from holdfast.victim.reader import Reader
from holdfast.victim.reading import ID_MASK, TYPE_SHIFT
from holdfast.victim.replay import Replay
from holdfast.victim.space import Space
from holdfast.victim.steady import SteadyRows
from holdfast.victim.two_readings import JoinedSession, ReadTwice, TwoReadings
from holdfast.victim.victim import LogProbabilities, Opened, Reading, Session
from holdfast.victim.window import ATTACKED, window
from holdfast.victim.word_level import WordLevel

ON_CPU, ON_GPU = (1024, 1), (16384, 8)  # tokens of a batch, widths are multiples of
ON_SHARED_GPU = 8192, 32  # batches that a few searches fill, of few shapes to record


class _Recordings(NamedTuple):
    """Forward passes as they were recorded, and of what."""

    handle: Connected | None
    device: torch.device
    replay: Replay


class ModelVictim:
    """A classifier and its tokenizer, on the device where the model is."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        *,
        max_length: int | None = None,
        canonical: CanonicalMap | None = None,
        word_level: bool = False,
        precision: Precision = "fp32",
        batch_tokens: int | None = None,
        shared: bool = False,
    ) -> None:
        """Take a classifier that reads texts as it did in training.

        `canonical` rewrites every text first; `word_level` models were trained on one id a word;
        a GPU is `shared` where other processes need it too: batches are small, of few widths.
        """
        require_classes(model.config)
        require_weights(precision, str(model.dtype))
        self.model: PreTrainedModel = model.eval()  # type: ignore[no-untyped-call]
        self.tokenizer = ensure_padding(tokenizer, model)
        self.canonical = canonical
        self.precision = precision
        self.max_length = window(model, tokenizer, max_length, ATTACKED)
        on_cpu = model.device.type == "cpu"
        budget, multiple = ON_CPU if on_cpu else ON_SHARED_GPU if shared else ON_GPU
        padding: Any = self.tokenizer.pad_token_id  # there is one now
        # where it is known that the number of rows does not reach a row, no batch is filled up
        fill = not on_cpu or precision != "fp32"
        self.shape = Shape(self.max_length, batch_tokens or budget, multiple, padding, fill)
        self._typed = "token_type_ids" in self.tokenizer.model_input_names
        self.word_level = word_level
        self._recordings: _Recordings | None = None
        pieces = (WordLevel if word_level else Pieces)(self.tokenizer, self.max_length)
        self.reader = Reader(pieces, canonical, self.max_length)
        self.blend = Blend() if canonical is None else canonical.blend
        self._twice: TwoReadings | None = None
        if canonical is not None and self.blend.trust < 1:
            own = Reader(pieces, canonical.own_words(), self.max_length)
            self._twice = TwoReadings(self.reader, own)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names the model has for its classes, by their codes."""
        names = getattr(self.model.config, "id2label", None) or {}
        return tuple(str(names.get(code, code)) for code in range(self.classes))

    @property
    def classes(self) -> int:
        """How many classes the model tells apart."""
        labels: Any = self.model.config.num_labels
        return int(labels)

    @property
    def noise(self) -> float:
        """How far a log-probability may move from one machine to another."""
        return NOISE[self.precision]

    @cached_property
    def fingerprint(self) -> str:
        """Checksum of the weights, how they are used, the tokenizer and all done to a text."""
        digest = hashlib.sha256()
        for name, value in self.model.state_dict().items():
            digest.update(name.encode())
            digest.update(value.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        handle = connected(self.model)
        settings: list[Any] = [self.max_length, self.precision]
        settings += [model_settings(self.model), tokenizer_settings(self.tokenizer)]
        settings += [plain_values(handle.connection) if handle else None, self._wording()]
        settings += ["word_level"] if self.word_level else []
        digest.update(json.dumps(settings, sort_keys=True).encode())
        return digest.hexdigest()

    def _wording(self) -> Any:
        told = plain_values(self.canonical)
        # models had their fingerprints before there was a second reading, or one that leads
        if self.canonical is not None and self.blend.trust == 1:
            del told["trust"]
        if self.canonical is not None and not self.blend.gives_way:
            del told["gives_way"]
        return told

    def read(self, texts: Sequence[tuple[Words, ...]]) -> Sequence[Reading]:
        """Return how the model reads each example."""
        return (self._twice or self.reader).read(texts)

    def open(self, readings: Sequence[Reading], spaces: Sequence[Space]) -> Sequence[Opened]:
        """Make spaces ready; what cannot be spliced truly is tokenised as whole texts."""
        if self._twice is None:
            return self.reader.open(readings, spaces)
        return self._twice.open([of for of in readings if isinstance(of, ReadTwice)], spaces)

    def tokenise(self, texts: Sequence[tuple[str, ...]]) -> list[list[int]]:
        """Return the tokens of whole texts, cut to the window, with their types."""
        return self.reader.tokenise(texts)

    @property
    def readers(self) -> tuple[Reader, ...]:
        """The ways in which it reads a text; the first one is that of canonical text."""
        return (self.reader,) if self._twice is None else (self.reader, self._twice.own)

    def queue(self) -> ModelSession:
        """Return a new queue for queries in the first reading, and for rows of tokens."""
        return ModelSession(self.reader, self.run, Lanes(self.shape))

    def joined(self, session: ModelSession | DistantSession) -> Session:
        """Return a session that answers once for all readings of a query."""
        twice = self._twice
        return session if twice is None else JoinedSession(session, twice, self.blend)

    def session(self) -> Session:
        """Return a new queue for queries."""
        return self.joined(self.queue())

    def distant(self, send: Send, receive: Receive) -> DistantVictim:
        """Return the victim for a process that does not run the model itself."""
        return DistantVictim(self, send, receive)

    def score(self, texts: Sequence[tuple[str, ...]]) -> LogProbabilities:
        """Answer for whole texts."""
        answers = self.score_reading(self.reader, texts)
        if self._twice is None:
            return answers
        return self.blend(answers, self.score_reading(self._twice.own, texts))

    def score_reading(self, reader: Reader, texts: Sequence[tuple[str, ...]]) -> LogProbabilities:
        """Answer for whole texts in one reading, as if there were no other."""
        session, block = self.queue(), 256
        for at in range(0, len(texts), block):
            part = texts[at : at + block]
            tickets = np.arange(at, at + len(part))
            session.put_rows(token_rows(reader.tokenise(part), tickets))
        return session.take_all(len(texts), self.classes)

    def answer(self, texts: Sequence[tuple[str, ...]]) -> LogProbabilities:
        """Answer for whole texts in one batch, as the model gives it.

        `score` spends more, so that an answer is the same whatever else is asked. Who only wants
        labels can do without.
        """
        answers = [self._together(reader.tokenise(texts)) for reader in self.readers]
        return answers[0] if self._twice is None else self.blend(*answers)

    def _together(self, rows: Sequence[Sequence[int]]) -> LogProbabilities:
        """Return the log-probabilities of rows of tokens, padded to the longest of them."""
        lengths = np.array([len(row) for row in rows])
        there = np.arange(lengths.max(initial=1)) < lengths[:, None]
        tokens = np.full(there.shape, self.shape.padding, dtype=np.int32)
        tokens[there] = [i for row in rows for i in row]
        inputs = (torch.from_numpy(of).to(self.model.device) for of in (tokens, lengths))
        return self.forward(*inputs).cpu().double().numpy()

    def run(self, batch: Batch) -> torch.Tensor:
        """Return the log-probabilities of a batch; on a GPU before they are computed."""
        tokens, lengths = torch.from_numpy(batch.tokens), torch.from_numpy(batch.lengths)
        device = self.model.device
        if device.type == "cuda":
            return self._replay()(tokens.pin_memory(), lengths.pin_memory())
        return self.forward(tokens.to(device), lengths.to(device))

    def _replay(self) -> Replay:
        """Return the recordings; new ones once the model was moved or connected."""
        known, handle, device = self._recordings, connected(self.model), self.model.device
        if known is None or known.handle is not handle or known.device != device:
            # a solve that fails must be able to say so
            strict = handle is not None and handle.connection.on_failure == "raise"
            made = Replay(self.forward, device, possible=not strict)
            self._recordings = known = _Recordings(handle, device, made)
        return known.replay

    def forward(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return the log-probabilities of a padded batch, on the model's device."""
        column = torch.arange(tokens.shape[1], device=tokens.device)
        inputs = {
            "input_ids": (tokens & ID_MASK).long(),
            "attention_mask": (column < lengths[:, None]).long(),
        }
        if self._typed:
            inputs["token_type_ids"] = (tokens >> TYPE_SHIFT).long()
        autocast = torch.autocast(tokens.device.type, torch.bfloat16, self.precision == "bf16")
        steady = nullcontext() if self.shape.fill else SteadyRows()
        with torch.no_grad(), autocast, steady:
            logits: torch.Tensor = self.model(**inputs).logits
        return logits.float().log_softmax(-1)
