"""A language model of 0.3 million parameters that knows nothing, and a tokenizer of the words that lamps need."""

import json
import re
import string
from pathlib import Path
from typing import Any

from practicum.codecs.chatml import ChatMLCompact
from practicum.codecs.codec import text_of
from practicum.contracts.messages import Message
from practicum.stages._trl import libraries
from tests.sdk.stages.house import ROOMS, SYSTEM, TOOLS, WISHES

_SPECIAL = ("<unk>", "<|pad|>", "<|im_start|>", "<|im_end|>")


def _words() -> list[str]:
    """What stands for one token each: whole phrases first, then every character that can be printed."""
    rendered = text_of(ChatMLCompact().render((Message(role="system", content=SYSTEM),), TOOLS))
    lines = [line for line in rendered.split("\n") if line and not line.startswith("<|")]
    phrases = [line.removesuffix("<|im_end|>") for line in lines]
    phrases += ["system\n", "user\n", "assistant\n", "tool\n", "<tool_call>", "</tool_call>", "}}", '"}', "done"]
    phrases += ['{"name":"', '","arguments":{"room":', '{"room":', ',"lamp":"', '"on"', "on", "off", "dim"]
    phrases += [*WISHES, *WISHES.values(), *map(str, ROOMS)]
    # What is said of calls that cannot be made, lest a tangled episode be ten times as long as a good one.
    phrases += ["This call could not be read: ", ". Give the arguments as one JSON object that fits the schema of "]
    phrases += ["There is no tool '", "'. Call one of these: ", json.dumps(TOOLS[0].input_schema), "no such room"]
    return [*dict.fromkeys(phrases), *string.printable[:95], "\n"]


def make_tiny(folder: Path, seed: int) -> Path:
    """Write model and tokenizer as transformers loads them.

    Args:
        folder: where to.
        seed: of its weights.
    """
    torch, transformers = libraries.torch(), libraries.transformers()
    tokenizer = make_tokenizer()
    transformers.set_seed(seed)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=96,
        intermediate_size=256,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        initializer_range=0.1,  # with the usual 0.02, copying a room from the prompt takes ten times the steps
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    model = transformers.LlamaForCausalLM(config).to(torch.float32)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def make_tokenizer() -> Any:
    """Closed vocabulary, and every text of printable characters comes back as it was."""
    tokenizers: Any = __import__("tokenizers")
    words = sorted(_words(), key=len, reverse=True)
    vocabulary = {word: place for place, word in enumerate((*_SPECIAL, *words))}
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    pattern = tokenizers.Regex("|".join(re.escape(word) for word in words))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Split(pattern, behavior="isolated")
    inner.decoder = tokenizers.decoders.Fuse()
    return libraries.transformers().PreTrainedTokenizerFast(
        tokenizer_object=inner,
        unk_token="<unk>",
        pad_token="<|pad|>",
        eos_token="<|im_end|>",
        additional_special_tokens=["<|im_start|>"],
    )
