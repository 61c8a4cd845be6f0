"""Models as they are loaded, given adapters, and saved."""

import shutil
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from practicum.codecs.codec import Codec, Piece
from practicum.errors import ConfigurationError
from practicum.stages._trl import libraries
from practicum.stages.bundle import WEIGHTS, Kind
from practicum.stages.settings import Lora, Precision


@dataclass(frozen=True)
class Loaded:
    """A model with its tokenizer.

    Attributes:
        model: of transformers, or of peft around one.
        tokenizer: of transformers.
        codec: in which it is spoken to.
        stops: ids of the tokens that end a turn, the usual one first.
        precision: in which numbers it computes.
    """

    model: Any
    tokenizer: Any
    codec: Codec
    stops: tuple[int, ...]
    precision: Precision

    @property
    def kind(self) -> Kind:
        """Whether it is an adapter over a model that stands still."""
        return Kind.ADAPTER if hasattr(self.model, "peft_config") else Kind.FULL

    @property
    def plain(self) -> Any:
        """The model of transformers, within which an adapter's layers lie."""
        return self.model.get_base_model() if self.kind is Kind.ADAPTER else self.model

    @property
    def context(self) -> int:
        """The most tokens that it reads."""
        return int(self.plain.config.max_position_embeddings)

    @property
    def vocabulary(self) -> int:
        """How many tokens it knows."""
        return int(self.plain.config.vocab_size)

    @contextmanager
    def computing(self) -> Generator[None]:
        """The precision, around a forward pass."""
        if self.precision is Precision.FLOAT32:
            yield
            return
        torch = libraries.torch()
        with ExitStack() as stack:
            stack.enter_context(torch.autocast(self.model.device.type, dtype=torch.bfloat16))
            if self.kind is Kind.ADAPTER:
                # Autocast casts what an adapter's layers read already; peft would cast it to float32 and back before.
                stack.enter_context(libraries.peft().helpers.disable_input_dtype_casting(self.model))
            yield

    def save(self, folder: Path) -> None:
        """Write the weights, with the tokenizer where they are a whole model's."""
        target = folder / WEIGHTS
        shutil.rmtree(target, ignore_errors=True)
        if self.kind is Kind.ADAPTER:
            # A copy that GRPO measures the distance from is no part of what was learned.
            self.model.save_pretrained(target, selected_adapters=["default"])
            (target / "README.md").unlink(missing_ok=True)
        else:
            self.model.save_pretrained(target)
            self.tokenizer.save_pretrained(target)


def settle(seed: int, threads: int | None) -> None:
    """Make what follows repeatable, on so many threads."""
    torch, transformers = libraries.torch(), libraries.transformers()
    if threads is not None:
        torch.set_num_threads(threads)
    transformers.set_seed(seed)


def device() -> str:
    """Where models live: the accelerator if there is one."""
    return "cuda" if libraries.torch().cuda.is_available() else "cpu"


def load_base(
    folder: Path, codec: Codec, precision: Precision, *, lora: Lora | None = None, adapter: Path | None = None
) -> Loaded:
    """Load a model to train.

    Args:
        folder: model and tokenizer as transformers saves them.
        codec: in which it will be spoken to.
        precision: in which numbers it computes.
        lora: a fresh adapter to put on it.
        adapter: folder of an adapter to go on with.

    Raises:
        ConfigurationError: they cannot be loaded, or the codec is for models with other control tokens.
    """
    torch, transformers = libraries.torch(), libraries.transformers()
    adapted = lora is not None or adapter is not None
    # Weights that stand still may be kept short; those that learn lose small steps in it.
    short = adapted and precision is Precision.BFLOAT16
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.bfloat16 if short else torch.float32, local_files_only=True
        )
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"No model can be loaded from {folder}: {error}", mend="Name a folder that transformers can load."
        ) from error
    model = model.to(device())
    with libraries.quiet():
        if adapter is not None:
            model = libraries.peft().PeftModel.from_pretrained(model, adapter, is_trainable=True)
        elif lora is not None:
            model = _with_adapter(model, lora)
    stops = tuple(_control(tokenizer, codec, stop) for stop in codec.stops)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.convert_ids_to_tokens(stops[0])
    return Loaded(model, tokenizer, codec, stops, precision)


def tokenise(loaded: Loaded, pieces: Sequence[Piece]) -> tuple[int, ...]:
    """The ids of rendered pieces, each tokenised on its own, only control pieces as control tokens."""
    return _spelled(loaded.tokenizer, loaded.codec, pieces)


def speller(folder: Path, codec: Codec) -> Callable[[Sequence[Piece]], tuple[int, ...]]:
    """What tokenises for a model that is not loaded.

    Args:
        folder: of the model, or of its tokenizer alone.
        codec: in which the model is spoken to.

    Raises:
        MissingExtraError: the extra `train` is not installed.
        ConfigurationError: no tokenizer is there, or the codec is for other models.
    """
    return partial(_spelled, _tokenizer(folder), codec)


def _tokenizer(folder: Path) -> Any:
    try:
        return libraries.transformers().AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"No tokenizer can be loaded from {folder}: {error}", mend="Name a folder that transformers can load."
        ) from error


def _spelled(tokenizer: Any, codec: Codec, pieces: Sequence[Piece]) -> tuple[int, ...]:
    ids: list[int] = []
    for piece in pieces:
        if piece.control:
            ids.append(_control(tokenizer, codec, piece.text))
        elif piece.text:
            ids += tokenizer(piece.text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    return tuple(ids)


def _with_adapter(model: Any, lora: Lora) -> Any:
    peft = libraries.peft()
    config = peft.LoraConfig(
        r=lora.rank, lora_alpha=lora.alpha, target_modules=list(lora.targets), lora_dropout=0.0, task_type="CAUSAL_LM"
    )
    try:
        return peft.get_peft_model(model, config)
    except ValueError as error:
        raise ConfigurationError(
            f"The adapter does not fit the model: {error}", mend="Name projections that it has in lora.targets."
        ) from error


def _control(tokenizer: Any, codec: Codec, name: str) -> int:
    identity = tokenizer.convert_tokens_to_ids(name)
    if identity is None or name not in tokenizer.all_special_tokens:
        raise ConfigurationError(
            f"'{name}' is no control token of the model.", mend=f"The codec '{codec.name}' is for other models."
        )
    return int(identity)
