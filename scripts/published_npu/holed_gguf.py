"""GGUF files of a shape whose tensors are a hole: enough to compile a program without weights, and some kilobytes on disk.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Every shape is written as architecture "llama", the plain
decoder: two norms, seven linear layers, an embedding. What the models have beside that (biases, norms of heads) is some kilobytes a layer.
"""
import math
import struct

ALIGNMENT = 32
UINT32, FLOAT32, STRING = 4, 6, 8  # types of metadata
# Name: number in the file, weights of a block, bytes of a block.
TYPES = {"f32": (0, 1, 4), "q4_0": (2, 32, 18), "q4_1": (3, 32, 20), "q8_0": (8, 32, 34)}


def _string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _metadata(shape):
    numbers = {"block_count": shape["layers"], "context_length": 131072, "embedding_length": shape["width"],
               "feed_forward_length": shape["feed_forward"], "attention.head_count": shape["heads"],
               "attention.head_count_kv": shape["kv_heads"], "attention.key_length": shape["head_size"],
               "attention.value_length": shape["head_size"], "rope.dimension_count": shape["head_size"],
               "vocab_size": shape["vocabulary"]}
    reals = {"attention.layer_norm_rms_epsilon": 1e-5, "rope.freq_base": 500000.0}
    pairs = [_string("general.architecture") + struct.pack("<I", STRING) + _string("llama")]
    pairs += [_string("llama." + key) + struct.pack("<II", UINT32, value) for key, value in numbers.items()]
    pairs += [_string("llama." + key) + struct.pack("<If", FLOAT32, value) for key, value in reals.items()]
    return pairs


def _tensors(shape, weights):
    """(name, dims with the inner one first, type) of every tensor."""
    width, feed_forward = shape["width"], shape["feed_forward"]
    query, keys = shape["heads"] * shape["head_size"], shape["kv_heads"] * shape["head_size"]
    yield "token_embd.weight", (width, shape["vocabulary"]), weights
    yield "output_norm.weight", (width,), "f32"
    if not shape["tied"]:
        yield "output.weight", (width, shape["vocabulary"]), weights
    for layer in range(shape["layers"]):
        for name in ("attn_norm", "ffn_norm"):
            yield f"blk.{layer}.{name}.weight", (width,), "f32"
        for name, dims in {"attn_q": (width, query), "attn_k": (width, keys), "attn_v": (width, keys), "attn_output": (query, width),
                           "ffn_gate": (width, feed_forward), "ffn_up": (width, feed_forward), "ffn_down": (feed_forward, width)}.items():
            yield f"blk.{layer}.{name}.weight", dims, weights


def write(path, shape, weights):
    """Writes the model of `shape` (as in rows.json) with all matrices in `weights`, one of TYPES."""
    infos, offset = [], 0
    for name, dims, kind in _tensors(shape, weights):
        number, elements, block_bytes = TYPES[kind]
        infos.append(_string(name) + struct.pack(f"<I{len(dims)}Q", len(dims), *dims) + struct.pack("<IQ", number, offset))
        offset += -(-(math.prod(dims) // elements * block_bytes) // ALIGNMENT) * ALIGNMENT
    pairs = _metadata(shape)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(pairs)) + b"".join(pairs) + b"".join(infos)
    head += bytes(-len(head) % ALIGNMENT)
    with open(path, "wb") as file:
        file.write(head)
        file.truncate(len(head) + offset)
