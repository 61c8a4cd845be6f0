"""SmolLM2 out of its GGUF, as transformers and peft load it."""

from pathlib import Path

from practicum.files import whole_folder
from practicum.stages._trl import libraries
from practicum.stages._trl.saving import saving
from practicum.stages.extra import require


def convert(source: Path, folder: Path) -> None:
    """Write a GGUF's weights and tokenizer as a checkpoint of transformers, in float32.

    Args:
        source: the GGUF file.
        folder: where to; it appears whole or not at all.

    Raises:
        MissingExtraError: the extra `train` is not installed.
        ConfigurationError: the folder cannot be written.
    """
    require()  # transformers reads GGUF through `gguf`, and says so less clearly
    torch, transformers = libraries.torch(), libraries.transformers()
    place = {"pretrained_model_name_or_path": source.parent, "gguf_file": source.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(**place)
    model = transformers.AutoModelForCausalLM.from_pretrained(**place, dtype=torch.float32)
    # The weights are plain numbers by now; what remembers that they were not would forbid to save them.
    model.hf_quantizer = None
    model.is_quantized = False
    del model.quantization_method
    del model.config.quantization_config
    with whole_folder(folder) as draft, saving(folder.parent):
        model.save_pretrained(draft)
        tokenizer.save_pretrained(draft)
