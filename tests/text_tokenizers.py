"""Small fast tokenizers of each kind that cuts words differently, made here from a few words."""

from collections.abc import Callable

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers.trainers import BpeTrainer
from transformers import PreTrainedTokenizerFast

from holdfast.text import Lexicon, lexicon_of

WORDS = ("film", "movie", "picture", "good", "great", "fine", "was", "the", "a", "café", "bad")
LEXICON: Lexicon = lexicon_of(
    {
        "film": ["movie", "picture", "cinematograph"],
        "movie": ["film", "picture"],
        "good": ["great", "fine", "okay"],
        "great": ["good", "Fine"],
        "bad": ["wretchedness"],
        "was": ["was"],
    },
    "made for the tests",
)
TEXTS = (
    "the film was good",
    "Film: a GREAT movie, was the good-film fine?",
    "(film) the movie's good... 'great' café   film\n\tgood",
    "unbelievable film",
    "good",
    " film  good ",
)


def wordpiece(*, lowercase: bool = True) -> PreTrainedTokenizerFast:
    letters = "abcdefghijklmnopqrstuvwxyzAFGMCé"
    pieces = [*WORDS, *map(str.upper, WORDS), *map(str.capitalize, WORDS), *letters, "cafe"]
    pieces += [f"##{letter}" for letter in letters] + [*".,:?'()-"]
    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys([*special, *pieces]))}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, model_max_length=64, model_input_names=inputs, **names
    )


def byte_bpe(*, trim: bool, prefix: bool = False, strip: bool = False) -> PreTrainedTokenizerFast:
    """Like RoBERTa's, which trims the space off its offsets, or GPT-2's, which does not."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix, trim_offsets=trim)
    backend.decoder = decoders.ByteLevel()
    if strip:
        backend.normalizer = normalizers.Strip()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = BpeTrainer(
        vocab_size=2000,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = [f"{word} {word} {word.capitalize()} {word.capitalize()}" for word in WORDS]
    backend.train_from_iterator([*texts, *texts], trainer)
    if trim:
        backend.post_processor = processors.RobertaProcessing(
            ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=prefix
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=64,
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="<s>",
        sep_token="</s>",
        bos_token="<s>",
        eos_token="</s>",
    )


def unigram(*, split: bool = True) -> PreTrainedTokenizerFast:
    """Like XLM-R's, which splits at white space first, or those that only mark it (T5, Llama)."""
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    letters = "abcdefghijklmnopqrstuvwxyzAFGMCEé▁.,:?'()-"
    pieces = [(name, 0.0) for name in special] + [(letter, -8.0) for letter in letters]
    pieces += [(f"▁{word}", -3.0) for word in WORDS] + [(word, -5.0) for word in WORDS]
    pieces += [(f"▁{word.capitalize()}", -4.0) for word in WORDS]
    backend = Tokenizer(models.Unigram(pieces, unk_id=3))
    backend.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(" {2,}", " ")]
    )
    marks = pre_tokenizers.Metaspace(prepend_scheme="always" if split else "first")
    splits = [pre_tokenizers.WhitespaceSplit()] if split else []
    backend.pre_tokenizer = pre_tokenizers.Sequence([*splits, marks])
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=64,
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="<s>",
        sep_token="</s>",
    )


def prepended() -> PreTrainedTokenizerFast:
    """Like Llama's first: a mark goes before every text, even one that begins with a space."""
    tokenizer = unigram(split=False)
    backend = tokenizer.backend_tokenizer
    backend.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    backend.pre_tokenizer = pre_tokenizers.Split(Regex("(?<=[^▁])(?=▁)"), "isolated")
    return tokenizer


KINDS: dict[str, Callable[[], PreTrainedTokenizerFast]] = {
    "wordpiece": wordpiece,
    "wordpiece, cased": lambda: wordpiece(lowercase=False),
    "byte-level BPE, trimmed": lambda: byte_bpe(trim=True),
    "byte-level BPE, prefixed": lambda: byte_bpe(trim=True, prefix=True),
    "byte-level BPE, with spaces": lambda: byte_bpe(trim=False),
    "byte-level BPE, stripped": lambda: byte_bpe(trim=True, strip=True),
    "unigram": unigram,
    "unigram, not split": lambda: unigram(split=False),
    "unigram, prepended": prepended,
}
