# SPDX-License-Identifier: MIT
"""A tiny random llama model as a GGUF file that the real llama-server loads and generates with.

The weights are random but reproducible, with one bent: each word is likely to be followed by the
next of the list, and the control and byte tokens hardly ever come up. So a reply is made of
different words, differs when sampled, and lasts until max_tokens.
"""

import random
import struct
from array import array

ALIGNMENT = 32
CONTEXT = 512
EMBEDDING = 64
FEED_FORWARD = 128
HEADS = 4
LAYERS = 2
LIKING = 0.07  # how much a word likes the next one: greedy follows the list, sampling often not

WORDS = (
    "coal mine canary light lamp shaft air gas song bird deep dark stone seam cart rail rope "
    "pick bell lift dust draft wind water pump engine steam pit fire safe"
).split()

TYPE_F32 = 0
VALUE_U32, VALUE_I32, VALUE_F32, VALUE_STRING, VALUE_ARRAY = 4, 5, 6, 8, 9
TOKEN_NORMAL, TOKEN_UNKNOWN, TOKEN_CONTROL, TOKEN_BYTE = 1, 2, 3, 6


def vocabulary():
    """(text, score, type) of every token, in the order of their ids."""
    tokens = [
        ("<unk>", 0.0, TOKEN_UNKNOWN),
        ("<s>", 0.0, TOKEN_CONTROL),
        ("</s>", 0.0, TOKEN_CONTROL),
    ]
    tokens += [(f"<0x{byte:02X}>", 0.0, TOKEN_BYTE) for byte in range(256)]
    tokens += [("\u2581" + word, -float(rank), TOKEN_NORMAL) for rank, word in enumerate(WORDS, 1)]
    return tokens


def _string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


_SCALARS = {
    VALUE_U32: lambda value: struct.pack("<I", value),
    VALUE_I32: lambda value: struct.pack("<i", value),
    VALUE_F32: lambda value: struct.pack("<f", value),
    VALUE_STRING: _string,
}


def _pair(key, kind, value):
    return _string(key) + struct.pack("<I", kind) + _SCALARS[kind](value)


def _array(key, kind, values):
    head = _string(key) + struct.pack("<IIQ", VALUE_ARRAY, kind, len(values))
    return head + b"".join(_SCALARS[kind](value) for value in values)


def _metadata(tokens):
    """All key-value pairs, each already encoded."""
    texts, scores, kinds = zip(*tokens)
    return [
        _pair("general.architecture", VALUE_STRING, "llama"),
        _pair("general.name", VALUE_STRING, "tiny-canary"),
        _pair("general.alignment", VALUE_U32, ALIGNMENT),
        _pair("llama.context_length", VALUE_U32, CONTEXT),
        _pair("llama.embedding_length", VALUE_U32, EMBEDDING),
        _pair("llama.block_count", VALUE_U32, LAYERS),
        _pair("llama.feed_forward_length", VALUE_U32, FEED_FORWARD),
        _pair("llama.attention.head_count", VALUE_U32, HEADS),
        _pair("llama.attention.head_count_kv", VALUE_U32, HEADS),
        _pair("llama.attention.layer_norm_rms_epsilon", VALUE_F32, 1e-5),
        _pair("llama.rope.dimension_count", VALUE_U32, EMBEDDING // HEADS),
        _pair("llama.vocab_size", VALUE_U32, len(tokens)),
        _pair("tokenizer.ggml.model", VALUE_STRING, "llama"),
        _array("tokenizer.ggml.tokens", VALUE_STRING, texts),
        _array("tokenizer.ggml.scores", VALUE_F32, scores),
        _array("tokenizer.ggml.token_type", VALUE_I32, kinds),
        _pair("tokenizer.ggml.unknown_token_id", VALUE_U32, 0),
        _pair("tokenizer.ggml.bos_token_id", VALUE_U32, 1),
        _pair("tokenizer.ggml.eos_token_id", VALUE_U32, 2),
    ]


def _random_rows(rng, columns, rows, gain=1.0):
    spread = gain / columns**0.5
    return array("f", (rng.gauss(0.0, spread) for _ in range(columns * rows)))


def _embeddings(rng, tokens):
    """One random row a token; the first column is the same for all, as a bias."""
    return [[1.0] + [rng.gauss(0.0, 1.0) for _ in range(EMBEDDING - 1)] for _ in tokens]


def _output_rows(tokens, embeddings):
    """A word's row resembles the embedding of the word before it; the bias pushes away all else."""
    words = [index for index, (_, _, kind) in enumerate(tokens) if kind == TOKEN_NORMAL]
    before = dict(zip(words, words[-1:] + words[:-1]))
    rows = array("f")
    for index in range(len(tokens)):
        if index in before:
            rows.extend([0.0] + [LIKING * value for value in embeddings[before[index]][1:]])
        else:
            rows.extend([-8.0] + [0.0] * (EMBEDDING - 1))
    return rows


def _block(rng, layer):
    ones = array("f", [1.0] * EMBEDDING)
    square, wide = (EMBEDDING, EMBEDDING), (EMBEDDING, FEED_FORWARD)
    parts = [("attn_norm", (EMBEDDING,), ones)]
    parts += [(name, square, _random_rows(rng, *square)) for name in ("attn_q", "attn_k", "attn_v")]
    parts += [("attn_output", square, _random_rows(rng, *square, gain=0.3))]
    parts += [("ffn_norm", (EMBEDDING,), ones)]
    parts += [(name, wide, _random_rows(rng, *wide)) for name in ("ffn_gate", "ffn_up")]
    parts += [("ffn_down", wide[::-1], _random_rows(rng, *wide[::-1], gain=0.3))]
    return [(f"blk.{layer}.{name}.weight", shape, values) for name, shape, values in parts]


def _tensors(rng, tokens):
    """(name, dimensions, values) of every tensor; the first dimension is the contiguous one."""
    embeddings = _embeddings(rng, tokens)
    shape = (EMBEDDING, len(tokens))
    yield "token_embd.weight", shape, array("f", (value for row in embeddings for value in row))
    for layer in range(LAYERS):
        yield from _block(rng, layer)
    yield "output_norm.weight", (EMBEDDING,), array("f", [1.0] * EMBEDDING)
    yield "output.weight", shape, _output_rows(tokens, embeddings)


def _padding(length):
    return b"\0" * (-length % ALIGNMENT)


def tiny_model(seed=1):
    """The bytes of a complete GGUF file, about 0.5 MB."""
    tokens = vocabulary()
    infos, data, count = b"", bytearray(), 0
    for name, dimensions, values in _tensors(random.Random(seed), tokens):
        infos += _string(name) + struct.pack("<I", len(dimensions))
        infos += struct.pack(f"<{len(dimensions)}Q", *dimensions)
        infos += struct.pack("<IQ", TYPE_F32, len(data))
        data += values.tobytes()
        data += _padding(len(data))
        count += 1
    pairs = _metadata(tokens)
    head = b"GGUF" + struct.pack("<IQQ", 3, count, len(pairs)) + b"".join(pairs) + infos
    return head + _padding(len(head)) + bytes(data)


def cut(model, fraction):
    """The file as an interrupted download leaves it."""
    return model[: int(len(model) * fraction)]


def with_bad_magic(model):
    """A file that is no GGUF at all."""
    return b"\0" * 4 + model[4:]


def with_unknown_architecture(model, name="lllma"):
    """The same file for an architecture that the server does not know; NAME has five letters."""
    if len(name) != len("llama"):
        raise ValueError("the name must have as many letters as 'llama'")
    return model.replace(_string("llama"), _string(name), 1)


def without_tensor(model, name="blk.1.ffn_up.weight"):
    """The same file with one tensor's name spoilt, so that the loader misses it."""
    spoilt = name[:-1] + "X"
    if _string(name) not in model:
        raise ValueError(f"no tensor {name}")
    return model.replace(_string(name), _string(spoilt), 1)
