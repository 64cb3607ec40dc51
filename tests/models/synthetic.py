"""Makes tiny random-weight GGUF models, so that the engine can be tested on real memory of each kind.

The hybrid one has Qwen3.5's architecture (``qwen35``: gated delta net, and full attention in every
fourth layer), the dense one Qwen2's, the recurrent one Mamba's, the windowed one Gemma 3's (three layers
of four see no further than 64 tokens). Their text is noise; their tokenizer, template and state behave as a
real model's do. Made in a second, about a megabyte.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import gguf
import numpy as np

SPECIAL = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
]
LAYERS, WIDTH, FEED_FORWARD = 4, 128, 256
HEADS, KV_HEADS, HEAD_SIZE = 2, 1, 64
LINEAR_HEADS, LINEAR_SIZE = 2, 32
WINDOW = 64
STATE_SIZE, TIME_STEP_RANK = 16, 8

QWEN_XML_TEMPLATE = """\
{%- if tools %}<|im_start|>system
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>
Write <tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>
{{ messages[0].content if messages[0].role == 'system' else '' }}<|im_end|>
{% endif %}
{%- set ns = namespace(last=-1) %}
{%- for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}
{%- for m in messages %}
{%- if m.role == 'user' %}<|im_start|>user
{{ m.content }}<|im_end|>
{% elif m.role == 'assistant' %}<|im_start|>assistant
{% if loop.index0 > ns.last %}<think>

</think>

{% endif %}{{ m.content }}
{%- for c in m.tool_calls or [] %}<tool_call>
<function={{ c.function.name }}>
{% for k, v in c.function.arguments | items %}<parameter={{ k }}>
{{ v if v is string else v | tojson }}
</parameter>
{% endfor %}</function>
</tool_call>{% endfor %}<|im_end|>
{% elif m.role == 'tool' %}<|im_start|>user
<tool_response>
{{ m.content }}
</tool_response><|im_end|>
{% endif %}{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking %}<think>
{% else %}<think>

</think>

{% endif %}{% endif %}"""
"""A template with Qwen3.5's habits: it drops the empty reasoning of earlier turns."""

Kind = Literal["hybrid", "dense", "recurrent", "windowed"]
_ARCHITECTURE: dict[Kind, str] = {
    "hybrid": "qwen35",
    "dense": "qwen2",
    "recurrent": "mamba",
    "windowed": "gemma3",
}


@dataclass(frozen=True)
class _Writer:
    file: gguf.GGUFWriter
    random: np.random.Generator

    def matrix(self, name: str, *shape: int) -> None:
        values = self.random.standard_normal(shape, dtype=np.float32) * 0.05
        self.file.add_tensor(name, values.astype(np.float16))

    def vector(self, name: str, size: int, value: float) -> None:
        self.file.add_tensor(name, np.full(size, value, np.float32))


def write_model(
    path: Path,
    kind: Kind = "hybrid",
    *,
    template: str = QWEN_XML_TEMPLATE,
    seed: int = 0,
    sampling: Mapping[str, float] | None = None,
    begins_prompts: bool = False,
) -> Path:
    """Write a model of that kind to `path`; return it. `sampling` are its ``general.sampling`` keys.

    With `begins_prompts`, its prompts begin with ``<|endoftext|>``, as some families' do.
    """
    file = gguf.GGUFWriter(path, _ARCHITECTURE[kind])
    _header(file, kind)
    size = _vocabulary(file, begins_prompts=begins_prompts)
    file.add_chat_template(template)
    for key, value in (sampling or {}).items():
        add = file.add_int32 if isinstance(value, int) else file.add_float32
        add(f"general.sampling.{key}", value)  # type: ignore[arg-type]
    _weights(_Writer(file, np.random.default_rng(seed)), kind, size)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return path


def _header(file: gguf.GGUFWriter, kind: Kind) -> None:
    file.add_name(f"synthetic {kind}")
    file.add_block_count(LAYERS)
    file.add_context_length(8192)
    file.add_embedding_length(WIDTH)
    file.add_feed_forward_length(FEED_FORWARD)
    file.add_head_count(0 if kind == "recurrent" else HEADS)
    file.add_head_count_kv(0 if kind == "recurrent" else KV_HEADS)
    file.add_layer_norm_rms_eps(1e-6)
    if kind == "recurrent":
        file.add_ssm_conv_kernel(4)
        file.add_ssm_inner_size(2 * WIDTH)
        file.add_ssm_state_size(STATE_SIZE)
        file.add_ssm_time_step_rank(TIME_STEP_RANK)
        return
    file.add_rope_freq_base(1e6)
    if kind == "windowed":
        file.add_key_length(HEAD_SIZE)
        file.add_value_length(HEAD_SIZE)
        file.add_sliding_window(WINDOW)
        file.add_sliding_window_pattern([(i + 1) % 4 != 0 for i in range(LAYERS)])
    if kind == "hybrid":
        file.add_key_length(HEAD_SIZE)
        file.add_value_length(HEAD_SIZE)
        file.add_rope_dimension_count(HEAD_SIZE // 4)
        file.add_rope_dimension_sections([3, 3, 2, 0])
        inner = LINEAR_HEADS * LINEAR_SIZE
        for key, value in {
            "conv_kernel": 4,
            "inner_size": inner,
            "state_size": LINEAR_SIZE,
            "time_step_rank": LINEAR_HEADS,
            "group_count": LINEAR_HEADS,
        }.items():
            file.add_uint32(f"qwen35.ssm.{key}", value)
        file.add_uint32("qwen35.full_attention_interval", 4)


def _vocabulary(file: gguf.GGUFWriter, *, begins_prompts: bool) -> int:
    """Write a token for each byte, and the special ones; return how many there are."""
    tokens = [_printable(byte) for byte in range(256)]
    types = [gguf.TokenType.NORMAL] * 256
    tokens.append("th")
    types.append(gguf.TokenType.NORMAL)
    first = len(tokens)
    for token in SPECIAL:
        tokens.append(token)
        types.append(gguf.TokenType.CONTROL if token.startswith("<|") else gguf.TokenType.USER_DEFINED)
    file.add_tokenizer_model("gpt2")
    file.add_tokenizer_pre("qwen2")
    file.add_token_list(tokens)
    file.add_token_types(types)
    file.add_token_merges(["t h"])
    file.add_eos_token_id(first + SPECIAL.index("<|im_end|>"))
    file.add_pad_token_id(first)
    file.add_add_bos_token(begins_prompts)
    file.add_bos_token_id(first)
    return len(tokens)


def _printable(byte: int) -> str:
    """Return byte-level BPE's printable stand-in for a byte."""
    keep = [*range(33, 127), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    if byte in keep:
        return chr(byte)
    return chr(256 + sum(1 for other in range(byte) if other not in keep))


def _weights(w: _Writer, kind: Kind, vocabulary: int) -> None:
    linear = LINEAR_HEADS * LINEAR_SIZE
    w.matrix("token_embd.weight", vocabulary, WIDTH)
    w.vector("output_norm.weight", WIDTH, 1.0)
    for i in range(LAYERS):
        block = f"blk.{i}."
        w.vector(block + "attn_norm.weight", WIDTH, 1.0)
        match kind:
            case "dense":
                w.vector(block + "ffn_norm.weight", WIDTH, 1.0)
                _attention(w, block, biased=True)
            case "windowed":
                for name in ("ffn_norm", "post_attention_norm", "post_ffw_norm"):
                    w.vector(f"{block}{name}.weight", WIDTH, 1.0)
                _attention(w, block)
                w.vector(block + "attn_q_norm.weight", HEAD_SIZE, 1.0)
                w.vector(block + "attn_k_norm.weight", HEAD_SIZE, 1.0)
            case "recurrent":
                _mamba(w, block)
                continue
            case "hybrid":
                w.vector(block + "post_attention_norm.weight", WIDTH, 1.0)
                if (i + 1) % 4 == 0:
                    _full_attention(w, block)
                else:
                    _linear_attention(w, block, linear)
        w.matrix(block + "ffn_gate.weight", FEED_FORWARD, WIDTH)
        w.matrix(block + "ffn_up.weight", FEED_FORWARD, WIDTH)
        w.matrix(block + "ffn_down.weight", WIDTH, FEED_FORWARD)


def _attention(w: _Writer, block: str, *, biased: bool = False) -> None:
    for name, size in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS)):
        w.matrix(f"{block}attn_{name}.weight", size * HEAD_SIZE, WIDTH)
        if biased:
            w.vector(f"{block}attn_{name}.bias", size * HEAD_SIZE, 0.0)
    w.matrix(block + "attn_output.weight", WIDTH, HEADS * HEAD_SIZE)


def _mamba(w: _Writer, block: str) -> None:
    inner = 2 * WIDTH
    w.matrix(block + "ssm_in.weight", 2 * inner, WIDTH)
    w.file.add_tensor(
        block + "ssm_conv1d.weight", w.random.standard_normal((inner, 4), dtype=np.float32) * 0.3
    )
    w.vector(block + "ssm_conv1d.bias", inner, 0.0)
    w.matrix(block + "ssm_x.weight", TIME_STEP_RANK + 2 * STATE_SIZE, inner)
    w.matrix(block + "ssm_dt.weight", inner, TIME_STEP_RANK)
    w.vector(block + "ssm_dt.bias", inner, 0.1)
    w.file.add_tensor(block + "ssm_a", np.full((inner, STATE_SIZE), -0.01, np.float32))
    w.vector(block + "ssm_d", inner, 1.0)
    w.matrix(block + "ssm_out.weight", WIDTH, inner)


def _full_attention(w: _Writer, block: str) -> None:
    w.matrix(block + "attn_q.weight", HEADS * HEAD_SIZE * 2, WIDTH)  # with its gate
    w.matrix(block + "attn_k.weight", KV_HEADS * HEAD_SIZE, WIDTH)
    w.matrix(block + "attn_v.weight", KV_HEADS * HEAD_SIZE, WIDTH)
    w.matrix(block + "attn_output.weight", WIDTH, HEADS * HEAD_SIZE)
    w.vector(block + "attn_q_norm.weight", HEAD_SIZE, 1.0)
    w.vector(block + "attn_k_norm.weight", HEAD_SIZE, 1.0)


def _linear_attention(w: _Writer, block: str, linear: int) -> None:
    w.matrix(block + "attn_qkv.weight", linear * 3, WIDTH)
    w.matrix(block + "attn_gate.weight", linear, WIDTH)
    w.file.add_tensor(
        block + "ssm_conv1d.weight", w.random.standard_normal((linear * 3, 4), dtype=np.float32) * 0.3
    )
    w.vector(block + "ssm_dt.bias", LINEAR_HEADS, 0.1)
    w.vector(block + "ssm_a", LINEAR_HEADS, -1.0)
    w.matrix(block + "ssm_beta.weight", LINEAR_HEADS, WIDTH)
    w.matrix(block + "ssm_alpha.weight", LINEAR_HEADS, WIDTH)
    w.vector(block + "ssm_norm.weight", LINEAR_SIZE, 1.0)
    w.matrix(block + "ssm_out.weight", WIDTH, linear)
