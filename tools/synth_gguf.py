#!/usr/bin/env python3
"""Write GGUF models that have the shape of real mixture-of-experts models and random weights.

The files load in llama.cpp and in FreeToken, give finite activations and logits of a chosen
spread, and route tokens to experts with a chosen popularity skew. Quantised blocks are made
straight from random bits with fitting scales, never through f32, so writing runs at disk speed.
The same arguments give the same bytes. Needs numpy.

    synth_gguf.py --preset mini-qwen3moe --quant q4_k_m --skew 0.6 mini.gguf
    synth_gguf.py --preset qwen3.6-35b-a3b --layers 4 cut.gguf
    synth_gguf.py --preset nano-gpt-oss --vocab 512 nano.gguf
    synth_gguf.py --list

How routing is skewed:
  * Element 0 of the residual stream is a constant channel. Every token embedding holds the same
    value there, row 0 of every matrix that writes to the residual stream is zero, and the
    attention norms and the output norm multiply it by zero. So the router of every layer sees a
    constant and column 0 of its F32 weight acts as one bias per expert, in every architecture.
  * The biases follow a Zipf law of exponent S over the experts, in an order drawn per layer:
    p(rank) ~ rank^-S with sum(p) = experts used, bias = spread * inverse_normal_cdf(p).
    spread (--router-std) is the standard deviation of the token-dependent part of the logits.
  * Token-to-token correlation: a share of each embedding row (--topic-share) is a pattern common to
    all tokens of one topic. Tokens that follow each other in the benchmark id sequence
    100 + (i*7919) mod 20000 stay in one topic for --topic-len tokens; other ids get a topic by hash.
    Attention and the delta-net state add a slowly changing part on top.
"""
import argparse
import json
import os
import statistics
import sys
import time
import zlib

try:
    import numpy as np
except ImportError:
    sys.exit("synth_gguf.py needs numpy; on Debian: apt-get install python3-numpy, then /usr/bin/python3 tools/synth_gguf.py")

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gguf_io import GGUFWriter, TYPES, TYPE_ID  # noqa: E402

# ---------------------------------------------------------------- shapes

CHATML = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TPL = ("{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
       "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")

PRESETS = {
    "qwen3.6-35b-a3b": dict(
        arch="qwen35moe", layers=40, n=2048, heads=16, kv=2, hd=256, rope=64, sections=[11, 11, 10, 0],
        experts=256, used=8, ff=512, shared_ff=512, interval=4, conv=4, groups=16, dt=32, state=128,
        eps=1e-6, base=1e7, ctx=262144, vocab=248320, pre="qwen35",
        special={248044: "<|endoftext|>", 248045: "<|im_start|>", 248046: "<|im_end|>"},
        eos="<|im_end|>", pad="<|endoftext|>", template=TPL),
    "qwen3-30b-a3b": dict(
        arch="qwen3moe", layers=48, n=2048, heads=32, kv=4, hd=128, rope=128, experts=128, used=8, ff=768,
        dense_ff=6144, eps=1e-6, base=1e6, ctx=40960, vocab=151936, pre="qwen2",
        special={151643: "<|endoftext|>", 151644: "<|im_start|>", 151645: "<|im_end|>"},
        bos="<|endoftext|>", eos="<|im_end|>", pad="<|endoftext|>", template=TPL),
    "mixtral-8x7b": dict(
        arch="llama", layers=32, n=4096, heads=32, kv=8, hd=128, rope=128, experts=8, used=2, ff=14336,
        eps=1e-5, base=1e6, ctx=32768, vocab=32000, pre="default",
        special={0: "<unk>", 1: "<s>", 2: "</s>"}, bos="<s>", eos="</s>", add_bos=True),
    "gpt-oss-20b": dict(
        arch="gpt-oss", layers=24, n=2880, heads=64, kv=8, hd=64, rope=64, experts=32, used=4, ff=2880,
        dense_ff=2880, window=128, eps=1e-5, base=150000.0, ctx=131072, vocab=201088, pre="gpt-4o",
        yarn=(32.0, 4096), quant="mxfp4",
        special={199998: "<|startoftext|>", 199999: "<|endoftext|>", 200002: "<|return|>",
                 200003: "<|constrain|>", 200005: "<|channel|>", 200006: "<|start|>", 200007: "<|end|>",
                 200008: "<|message|>", 200012: "<|call|>"},
        bos="<|startoftext|>", eos="<|return|>", pad="<|endoftext|>"),
    "deepseek-v2-lite": dict(
        arch="deepseek2", layers=27, n=2048, heads=16, kv=1, nope=128, rope=64, vdim=128, lora=512,
        experts=64, used=6, ff=1408, shared=2, dense_ff=10944, lead=1, eps=1e-6, base=10000.0,
        ctx=163840, vocab=102400, pre="deepseek-llm", yarn=(40.0, 4096), yarn_log=0.0707,
        special={100000: "<|bos|>", 100001: "<|eos|>"}, bos="<|bos|>", eos="<|eos|>", pad="<|eos|>", add_bos=True),
    "glm-4.5-air": dict(
        arch="glm4moe", layers=46, n=4096, heads=96, kv=8, hd=128, rope=64, experts=128, used=8, ff=1408,
        shared=1, dense_ff=10944, lead=1, eps=1e-5, base=1e6, ctx=131072, vocab=151552, pre="glm4",
        special={151329: "<|endoftext|>", 151331: "[gMASK]", 151333: "<sop>", 151335: "<|system|>",
                 151336: "<|user|>", 151337: "<|assistant|>", 151338: "<|observation|>"},
        bos="[gMASK]", eos="<|endoftext|>", eot="<|user|>", pad="<|endoftext|>"),
}
PRESETS["mini-qwen3moe"] = dict(PRESETS["qwen3-30b-a3b"], layers=16, n=1024, heads=16, kv=2, experts=64,
                                ff=512, dense_ff=3072, vocab=32768)
PRESETS["nano-qwen35moe"] = dict(PRESETS["qwen3.6-35b-a3b"], layers=4, n=256, heads=4, kv=2, hd=64, rope=32,
                                 sections=[6, 5, 5, 0], experts=8, used=2, ff=256, shared_ff=256, groups=2, dt=4,
                                 state=64, ctx=4096, vocab=1024)
PRESETS["nano-qwen3moe"] = dict(PRESETS["qwen3-30b-a3b"], layers=2, n=256, heads=4, kv=2, hd=64, rope=64,
                                experts=8, used=2, ff=256, dense_ff=512, ctx=4096, vocab=1024)
PRESETS["nano-llama"] = dict(PRESETS["mixtral-8x7b"], layers=2, n=256, heads=4, kv=2, hd=64, rope=64, ff=256,
                             experts=4, ctx=4096, vocab=1024)
PRESETS["nano-gpt-oss"] = dict(PRESETS["gpt-oss-20b"], layers=4, n=256, heads=4, kv=2, hd=64, rope=64, experts=8,
                               used=2, ff=256, dense_ff=256, window=32, ctx=4096, vocab=1024, yarn=(4.0, 1024))
PRESETS["nano-deepseek2"] = dict(PRESETS["deepseek-v2-lite"], layers=3, n=256, heads=4, nope=64, rope=32, vdim=64,
                                 lora=128, experts=8, used=2, ff=256, shared=1, dense_ff=512, ctx=4096, vocab=1024,
                                 yarn=(4.0, 1024))
PRESETS["nano-glm4moe"] = dict(PRESETS["glm-4.5-air"], layers=3, n=256, heads=4, kv=2, hd=64, rope=32, experts=8,
                               used=2, ff=256, dense_ff=512, ctx=4096, vocab=1024)

FILE_TYPE = {"f32": 0, "f16": 1, "q4_0": 2, "q8_0": 7, "q4_k_m": 15, "iq4_xs": 30, "mxfp4": 38}
BASE_TYPE = {"f32": "F32", "f16": "F16", "q4_0": "Q4_0", "q8_0": "Q8_0", "q4_k_m": "Q4_K", "iq4_xs": "IQ4_XS",
             "mxfp4": "Q8_0"}
# used when a row is not a multiple of 256 values
FALLBACK = {"Q4_K": "Q5_0", "Q5_K": "Q5_1", "Q6_K": "Q8_0", "IQ4_XS": "IQ4_NL"}

# ---------------------------------------------------------------- vocabulary


def byte_alphabet():
    """The usual printable stand-ins for the 256 byte values of a byte-level BPE vocabulary."""
    keep = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    out, extra = {}, 0
    for b in range(256):
        if b in keep:
            out[b] = chr(b)
        else:
            out[b] = chr(256 + extra)
            extra += 1
    # printable bytes first, as published vocabularies do
    return [out[b] for b in keep] + [out[b] for b in range(256) if b not in keep]


WORDS = """the of and to in is that it for was on are as with be at by this have from or one had not but
what all were when we there can an your which their if do will each about how up out them then she many some so
these would other into has more her two like him see time could no make than first been its who now people my
made over did down only way find use may water long little very after words called just where most know get
through back much before go good new write our used me man too any day same right look think also around
another came come work three word must because does part even place well such here take why help put different
away again off went old number great tell men say small every found still between name should home big give air
line set own under read last never us left end along while might next sound below saw something thought both
few those always looked show large often together asked house don world going want school important until form
food keep children feet land side without boy once animals life enough took sometimes four head above kind began
almost live page got earth need far hand high year mother light parts country father let night following study
second eyes soon times story boys since white days ever paper hard near sentence better best across during today
others however sure means knew try told young miles sun ways thing whole hear example heard several change
answer room sea against top turned learn point city play toward five using himself usually program file memory
model token value table system data license free software source code copy version work user state""".split()
PARTS = "ing tion ed er ly es ment ness able al ion ent ate ity ive ous ful est ic age ure".split()


def build_vocab(size, special):
    """Tokens, token types and merges: 256 bytes, common English words with a leading space built letter
    by letter, common endings, then letter pairs, triples and quadruples in the order of letter frequency.
    Special tokens keep their published ids where the size allows it.
    """
    specials = {i: t for i, t in special.items() if i < size}
    if len(specials) < len(special):
        specials = {size - len(special) + k: t for k, t in enumerate(special.values())}
    room = size - len(specials)
    base = byte_alphabet()
    if room < len(base):
        raise SystemExit("--vocab must be at least %d" % (len(base) + len(special)))
    letters = "etaoinshrdlcumwfgypbvkjxqz"
    tokens, merges, known = list(base), [], set(base)

    def add(a, b):
        if a + b not in known:
            known.add(a + b)
            tokens.append(a + b)
            merges.append(a + " " + b)
        return len(tokens) >= room

    def ranked(lists):
        grids = np.meshgrid(*[np.arange(k) for k in lists], indexing="ij")
        flat = [g.reshape(-1) for g in grids]
        order = np.argsort(sum(flat), kind="stable")
        return zip(*[f[order].tolist() for f in flat])

    def fill():
        if room == len(tokens):
            return
        for w in ["Ġ" + w for w in WORDS] + PARTS:
            for k in range(1, len(w)):
                if add(w[:k], w[k]):
                    return
        for c in letters:
            if add("Ġ", c):
                return
        for i, j in ranked([26, 26]):
            if add(letters[i], letters[j]):
                return
        for i, j in ranked([26, 26]):
            if add("Ġ" + letters[i], letters[j]):
                return
        for c in letters.upper():
            if add("Ġ", c):
                return
        for i, j, k in ranked([26, 26, 26]):
            if add(letters[i] + letters[j], letters[k]):
                return
        for i, j, k, l in ranked([26, 26, 26, 26]):
            if add(letters[i] + letters[j], letters[k] + letters[l]):
                return
        raise SystemExit("--vocab is too large")

    fill()
    out, types, it = [], [], iter(tokens)
    for i in range(size):
        if i in specials:
            out.append(specials[i])
            types.append(3)
        else:
            out.append(next(it))
            types.append(1)
    return out, types, merges, {t: i for i, t in specials.items()}

# ---------------------------------------------------------------- random blocks

KV4 = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], float)
LAYOUT = {k: (v[1], v[2]) for k, v in ((t[0], t) for t in TYPES.values())}
LAYOUT["F16"] = (32, 64)      # handled in groups of 32 values
LAYOUT["F32"] = (32, 128)


def f16(x):
    return np.frombuffer(np.float16(x).tobytes(), np.uint8)


class Blocks:
    """Random blocks of one type whose values have mean about 0 and standard deviation sigma."""

    def __init__(self, kind, sigma, rng):
        self.kind, self.rng, self.sigma = kind, rng, sigma
        self.per, self.size = LAYOUT[kind]
        self.first = None           # value that set_first() writes
        t = np.random.Generator(np.random.SFC64(1234567))
        if kind in ("Q4_K", "Q5_K"):
            top = 15 if kind == "Q4_K" else 31
            sd = np.sqrt(((top + 1) ** 2 - 1) / 12.0)
            sc = t.integers(40, 64, (1024, 8)).astype(np.uint8)
            sc[:, 0] = 51
            d = sigma / (sd * np.sqrt(np.mean(sc.astype(float) ** 2)))
            self.head = np.zeros((1024, 16), np.uint8)
            self.head[:, 0:2], self.head[:, 2:4] = f16(d), f16(d * top / 2)
            self.head[:, 4:8] = (sc[:, 0:4] & 63) | ((sc[:, 4:8] >> 4) << 6)
            self.head[:, 8:12] = self.head[:, 4:8]
            self.head[:, 12:16] = (sc[:, 4:8] & 15) | ((sc[:, 4:8] & 15) << 4)
            self.first = float(np.float16(d)) * 51 * top - float(np.float16(d * top / 2)) * 51
        elif kind == "Q6_K":
            sc = t.integers(64, 128, (1024, 16)) * t.choice([-1, 1], (1024, 16))
            d = sigma / (np.sqrt((64 ** 2 - 1) / 12.0) * np.sqrt(np.mean(sc.astype(float) ** 2)))
            self.head = np.zeros((1024, 18), np.uint8)
            self.head[:, :16] = sc.astype(np.int8).view(np.uint8)
            self.head[:, 16:] = f16(d)
            self.first = float(np.float16(d)) * 96 * 31
        elif kind == "IQ4_XS":
            ls = np.sqrt(np.mean((np.arange(64) - 32.0) ** 2))
            self.d = sigma / (ls * np.sqrt(np.mean(KV4 ** 2)))
            self.first = float(np.float16(self.d)) * 31 * 113
        elif kind in ("Q8_0", "Q4_0", "Q5_0", "Q5_1", "IQ4_NL"):
            rms = {"Q8_0": np.sqrt(np.mean(np.arange(-128, 128.0) ** 2)), "Q4_0": np.sqrt(np.mean(np.arange(-8, 8.0) ** 2)),
                   "Q5_0": np.sqrt(np.mean(np.arange(-16, 16.0) ** 2)), "Q5_1": np.sqrt((32 ** 2 - 1) / 12.0),
                   "IQ4_NL": np.sqrt(np.mean(KV4 ** 2))}[kind]
            f = t.uniform(0.75, 1.25, 256)
            f /= np.sqrt(np.mean(f ** 2))
            d = (sigma / rms * f * (1 if kind == "Q5_1" else t.choice([-1, 1], 256))).astype(np.float16)
            self.head = d.reshape(-1, 1).view(np.uint8)
            if kind == "Q5_1":
                m = (-15.5 * d.astype(np.float32)).astype(np.float16)
                self.head = np.concatenate([self.head, m.reshape(-1, 1).view(np.uint8)], axis=1)
            self.d0 = np.float16(sigma / rms)
            self.first = float(self.d0) * {"Q8_0": 127, "Q4_0": 7, "Q5_0": 15, "Q5_1": 15.5, "IQ4_NL": 113}[kind]
            if kind == "Q5_1":
                self.first = float(self.d0) * 31 + float(np.float16(-15.5 * float(self.d0)))
        elif kind == "MXFP4":
            rms = np.sqrt(np.mean(np.array([0, 1, 2, 3, 4, 6, 8, 12.0]) ** 2))
            self.e = int(round(128 + np.log2(sigma / rms)))
            self.first = 12 * 2.0 ** (self.e - 128)
        elif kind == "F16":
            # sign, mantissa and the lowest exponent bit are random: |x| in [2^k, 2^(k+2))
            rms = np.sqrt(np.mean([(2.0 ** e) ** 2 * 7 / 3 for e in (0, 1)]))
            self.scale = sigma / rms
            self.k = int(round(np.log2(self.scale)))
            self.first = 3.0 * 2.0 ** self.k
        elif kind == "F32":
            self.first = 1.6 * sigma

    def make(self, n):
        """n blocks as an array of bytes [n, size]."""
        if self.kind == "F32":
            v = self.rng.standard_normal(n * self.per, dtype=np.float32)
            v *= np.float32(self.sigma)
            return v.view(np.uint8).reshape(n, self.size)
        words = (n * self.size + 7) // 8
        b = self.rng.integers(0, 0xFFFFFFFFFFFFFFFF, words, dtype=np.uint64, endpoint=True).view(np.uint8)
        b = b[:n * self.size].reshape(n, self.size)
        k = self.kind
        if k in ("Q4_K", "Q5_K", "Q6_K"):
            idx = b[:, 0].astype(np.intp) | ((b[:, 1].astype(np.intp) & 3) << 8)
            if k == "Q6_K":
                b[:, 192:210] = self.head[idx]
            else:
                b[:, 0:16] = self.head[idx]
        elif k == "IQ4_XS":
            b[:, 0:2] = f16(self.d)
        elif k == "MXFP4":
            b[:, 0] = self.e
        elif k == "F16":
            v = b.view(np.uint16)
            v &= np.uint16(0x87FF)
            v += np.uint16((self.k + 15) << 10)      # both exponents stay inside the field
        else:
            b[:, 0:self.head.shape[1]] = self.head[b[:, 0]]
        return b

    def set_first(self, b):
        """Give value 0 of each block the value self.first (same for all blocks)."""
        k = self.kind
        if k in ("Q4_K", "Q5_K"):
            b[:, 0:16] = self.head[0]
            if k == "Q4_K":
                b[:, 16] |= 15
            else:
                b[:, 48] |= 15
                b[:, 16] |= 1
        elif k == "Q6_K":
            b[:, 192] = 96
            b[:, 0] |= 15
            b[:, 128] |= 3
        elif k == "IQ4_XS":
            b[:, 2] |= 3
            b[:, 4] |= 15
            b[:, 8] |= 15
        elif k in ("Q8_0", "Q4_0", "Q5_0", "Q5_1", "IQ4_NL"):
            b[:, 0:2] = f16(self.d0)
            if k == "Q8_0":
                b[:, 2] = 127
            elif k in ("Q4_0", "IQ4_NL"):
                b[:, 2] |= 15
            elif k == "Q5_0":
                b[:, 2] |= 1
                b[:, 6] |= 15
            else:
                b[:, 2:4] = f16(-15.5 * float(self.d0))
                b[:, 4] |= 1
                b[:, 8] |= 15
        elif k == "MXFP4":
            b[:, 1] = (b[:, 1] & 0xF0) | 7
        elif k == "F16":
            b[:, 0:2] = f16(self.first)
        elif k == "F32":
            b[:, 0:4] = np.frombuffer(np.float32(self.first).tobytes(), np.uint8)

# ---------------------------------------------------------------- model


class Synth:
    def __init__(self, a):
        self.a = a
        self.p = dict(PRESETS[a.preset])
        p = self.p
        if a.layers:
            p["layers"] = a.layers
        if a.vocab:
            p["vocab"] = a.vocab
        self.quant = a.quant or p.get("quant", "q4_k_m")
        self.L = p["layers"]
        self.tensors = []          # (name, shape, type, maker)
        self.cache_small = {}

    def rng(self, name):
        return np.random.Generator(np.random.SFC64(
            np.random.SeedSequence([self.a.seed, zlib.crc32(name.encode())])))

    # -- which type a matrix gets, following the usual mixtures
    def kind(self, role, layer, row):
        q, p, L = self.quant, self.p, self.L
        t = BASE_TYPE[q]
        more = layer < L // 8 or layer >= 7 * L // 8 or (layer - L // 8) % 3 == 2
        eight = p["experts"] == 8 and p["arch"] == "llama"
        if role == "output":
            t = t if q in ("f32", "f16", "q8_0") else ("Q8_0" if q == "mxfp4" or row % 256 else "Q6_K")
        elif q == "mxfp4":
            t = "MXFP4" if role in ("gate_exps", "up_exps", "down_exps") else "Q8_0"
        elif q in ("q4_k_m", "iq4_xs") and eight and role in ("v", "k"):
            t = "Q8_0"
        elif q == "q4_k_m":
            if role in ("v", "down", "down_exps", "down_shexp") and more:
                t = "Q6_K"
            elif role == "qkv" or (role == "o" and eight):
                t = "Q5_K"
        elif q == "iq4_xs":
            if role == "v" and p["heads"] // p["kv"] >= 4:
                t = "Q5_K"
            elif role in ("down", "down_exps", "down_shexp") and layer < L // 8:
                t = "Q5_K"
            elif role == "o" and eight:
                t = "Q5_K"
        if p["arch"] == "gpt-oss" and role in ("gate_exps", "up_exps", "down_exps") and q not in ("f32", "f16"):
            t = "MXFP4"            # the published weights are MXFP4 already
        if row % LAYOUT[t][0]:
            t = FALLBACK.get(t, "F16")
        return t

    def mat(self, name, shape, sigma, role, layer=0, to_residual=False):
        kind = self.kind(role, layer, shape[0])

        def make():
            blk = Blocks(kind, sigma, self.rng(name))
            bpr = shape[0] // blk.per
            rows = int(np.prod(shape[1:]))
            step = max(1, (8 << 20) // (bpr * blk.size))
            for r in range(0, rows, step):
                n = min(step, rows - r)
                b = blk.make(n * bpr)
                if to_residual:     # output row 0 (of every expert) is zero: the constant channel stays constant
                    z = np.arange(r, r + n) % shape[1] == 0
                    if z.any():
                        b.reshape(n, bpr * blk.size)[z] = 0
                yield b
        self.tensors.append((name, shape, kind, make))

    def vec(self, name, shape, fn):
        """F32 tensor from fn(rng), array in C order (last GGUF dimension first)."""
        self.tensors.append((name, shape, "F32",
                             lambda: [np.ascontiguousarray(fn(self.rng(name)), dtype=np.float32)]))

    def norm(self, name, n, zero=None):
        def fn(r):
            w = 1 + 0.1 * r.standard_normal(n)
            if zero is not None:
                w[0] = zero
            return w
        self.vec(name, (n,), fn)

    def bias(self, name, shape, sd=0.05, to_residual=False):
        def fn(r):
            v = sd * r.standard_normal(tuple(reversed(shape)))
            if to_residual:
                v[..., 0] = 0
            return v
        self.vec(name, shape, fn)

    # -- routing
    def popularity(self):
        """Wanted selection probability of the experts by rank; the sum is the number used."""
        n, k = self.p["experts"], self.p["used"]
        w = np.arange(1, n + 1, dtype=float) ** -self.a.skew
        pr = w / w.sum() * k
        for _ in range(200):
            over = pr > 0.95
            if not over.any():
                break
            pr[over] = 0.95
            rest = ~over
            pr[rest] *= (k - 0.95 * over.sum()) / pr[rest].sum()
        return pr

    def expert_bias(self):
        nd = statistics.NormalDist()
        b = np.array([nd.inv_cdf(min(max(x, 1e-9), 0.95)) for x in self.popularity()]) * self.a.router_std
        return b - b.mean()

    def router(self, name, layer):
        n, e = self.p["n"], self.p["experts"]
        # root mean square of the residual stream grows from 1 to sqrt(2) over the model
        x0 = self.embed_first / np.sqrt(1 + (layer + 0.5) / self.L)

        def fn(r):
            w = r.standard_normal((e, n), dtype=np.float32) * np.float32(self.a.router_std / np.sqrt(n))
            w[:, 0] = self.expert_bias()[r.permutation(e)] / x0
            return w
        self.vec(name, (n, e), fn)

    def weight_square(self, act):
        """Expected value of sum(weight^2) over the chosen experts, by simulation."""
        r = np.random.Generator(np.random.SFC64(99))
        e, k = self.p["experts"], self.p["used"]
        z = self.expert_bias() + self.a.router_std * r.standard_normal((500, e))
        s = 1 / (1 + np.exp(-z)) if act == "sigmoid" else np.exp(z) / np.exp(z).sum(1, keepdims=True)
        top = -np.sort(-s, axis=1)[:, :k]
        if act != "softmax-raw":
            top = top / top.sum(1, keepdims=True)
        return float((top ** 2).sum(1).mean())

    # -- blocks of layers
    def moe(self, i, act="softmax", h2=0.356):
        p, n, ff, e = self.p, self.p["n"], self.p["ff"], self.p["experts"]
        b = "blk.%d." % i
        s = np.sqrt(0.5 / self.L)
        if not hasattr(self, "w2"):
            self.w2 = self.weight_square(act)
        self.router(b + "ffn_gate_inp.weight", i)
        self.mat(b + "ffn_gate_exps.weight", (n, ff, e), n ** -0.5, "gate_exps", i)
        self.mat(b + "ffn_up_exps.weight", (n, ff, e), n ** -0.5, "up_exps", i)
        self.mat(b + "ffn_down_exps.weight", (ff, n, e), s / np.sqrt(ff * h2 * self.w2), "down_exps", i, True)

    def shexp(self, i, ff):
        n, b = self.p["n"], "blk.%d." % i
        self.mat(b + "ffn_gate_shexp.weight", (n, ff), n ** -0.5, "gate_shexp", i)
        self.mat(b + "ffn_up_shexp.weight", (n, ff), n ** -0.5, "up_shexp", i)
        self.mat(b + "ffn_down_shexp.weight", (ff, n), np.sqrt(0.25 / self.L / (ff * 0.356)), "down_shexp", i, True)

    def dense(self, i):
        n, ff, b = self.p["n"], self.p["dense_ff"], "blk.%d." % i
        self.mat(b + "ffn_gate.weight", (n, ff), n ** -0.5, "gate", i)
        self.mat(b + "ffn_up.weight", (n, ff), n ** -0.5, "up", i)
        self.mat(b + "ffn_down.weight", (ff, n), np.sqrt(0.5 / self.L / (ff * 0.356)), "down", i, True)

    def attention(self, i, gate=1, bias=False):
        p, n, b = self.p, self.p["n"], "blk.%d." % i
        q, kv = p["heads"] * p["hd"], p["kv"] * p["hd"]
        self.mat(b + "attn_q.weight", (n, q * gate), n ** -0.5, "q", i)
        self.mat(b + "attn_k.weight", (n, kv), n ** -0.5, "k", i)
        self.mat(b + "attn_v.weight", (n, kv), n ** -0.5, "v", i)
        # averaging over positions and the output gate shrink the values; 1.5 makes up for part of it
        self.mat(b + "attn_output.weight", (q, n), 1.5 * gate * np.sqrt(0.5 / self.L / q), "o", i, True)
        if bias:
            self.bias(b + "attn_q.bias", (q,))
            self.bias(b + "attn_k.bias", (kv,))
            self.bias(b + "attn_v.bias", (kv,))

    def layer(self, i, mtp=False):
        p, n, b, arch = self.p, self.p["n"], "blk.%d." % i, self.p["arch"]
        self.norm(b + "attn_norm.weight", n, 0.0)
        if arch in ("qwen3moe", "llama"):
            self.attention(i)
            if arch == "qwen3moe":
                self.norm(b + "attn_q_norm.weight", p["hd"])
                self.norm(b + "attn_k_norm.weight", p["hd"])
            self.norm(b + "ffn_norm.weight", n, 1.0)
            self.moe(i)
        elif arch == "qwen35moe":
            if mtp or (i + 1) % p["interval"] == 0:
                self.attention(i, gate=2)
                self.norm(b + "attn_q_norm.weight", p["hd"])
                self.norm(b + "attn_k_norm.weight", p["hd"])
            else:
                key, val = p["groups"] * p["state"], p["dt"] * p["state"]
                self.mat(b + "attn_qkv.weight", (n, 2 * key + val), n ** -0.5, "qkv", i)
                self.mat(b + "attn_gate.weight", (n, val), n ** -0.5, "gate_attn", i)
                self.vec(b + "ssm_conv1d.weight", (p["conv"], 2 * key + val),
                         lambda r: 0.5 * r.standard_normal((2 * key + val, p["conv"])))
                # decay per step exp(ssm_a * softplus(dt + ...)): memory of some steps to some thousand
                self.vec(b + "ssm_dt.bias", (p["dt"],),
                         lambda r: np.log(np.expm1(10 ** r.uniform(-3, -1, p["dt"]))))
                self.vec(b + "ssm_a", (p["dt"],), lambda r: -r.uniform(1, 8, p["dt"]))
                self.mat(b + "ssm_beta.weight", (n, p["dt"]), n ** -0.5, "beta", i)
                self.mat(b + "ssm_alpha.weight", (n, p["dt"]), 0.5 * n ** -0.5, "alpha", i)
                self.norm(b + "ssm_norm.weight", p["state"])
                self.mat(b + "ssm_out.weight", (val, n), np.sqrt(0.5 / self.L / (val * 0.356)), "ssm_out", i, True)
            self.norm(b + "post_attention_norm.weight", n, 1.0)
            self.moe(i)
            self.vec(b + "ffn_gate_inp_shexp.weight", (n,), lambda r: r.standard_normal(n) * n ** -0.5)
            self.shexp(i, p["shared_ff"])
        elif arch == "gpt-oss":
            self.attention(i, bias=True)
            self.bias(b + "attn_output.bias", (n,), 0.02, True)
            self.vec(b + "attn_sinks.weight", (p["heads"],), lambda r: r.standard_normal(p["heads"]))
            self.norm(b + "post_attention_norm.weight", n, 1.0)
            self.moe(i, h2=0.8)
            self.bias(b + "ffn_gate_inp.bias", (p["experts"],))
            self.bias(b + "ffn_gate_exps.bias", (p["ff"], p["experts"]))
            self.bias(b + "ffn_up_exps.bias", (p["ff"], p["experts"]))
            self.bias(b + "ffn_down_exps.bias", (n, p["experts"]), 0.02, True)
        elif arch == "deepseek2":
            h, hk = p["heads"], p["nope"] + p["rope"]
            self.mat(b + "attn_q.weight", (n, h * hk), n ** -0.5, "q", i)
            self.mat(b + "attn_kv_a_mqa.weight", (n, p["lora"] + p["rope"]), n ** -0.5, "kv_a", i)
            self.norm(b + "attn_kv_a_norm.weight", p["lora"])
            self.mat(b + "attn_k_b.weight", (p["nope"], p["lora"], h), p["lora"] ** -0.5, "k_b", i)
            self.mat(b + "attn_v_b.weight", (p["lora"], p["vdim"], h), p["lora"] ** -0.5, "v_b", i)
            self.mat(b + "attn_output.weight", (h * p["vdim"], n), 1.5 * np.sqrt(0.5 / self.L / (h * p["vdim"])), "o", i, True)
            self.norm(b + "ffn_norm.weight", n, 1.0)
            if i < p["lead"]:
                self.dense(i)
            else:
                self.moe(i, act="softmax-raw")
                self.shexp(i, p["ff"] * p["shared"])
        elif arch == "glm4moe":
            self.attention(i, bias=True)
            self.norm(b + "post_attention_norm.weight", n, 1.0)
            if i < p["lead"]:
                self.dense(i)
            else:
                self.moe(i, act="sigmoid")
                self.vec(b + "exp_probs_b.bias", (p["experts"],), lambda r: np.zeros(p["experts"]))
                self.shexp(i, p["ff"] * p["shared"])

    def embedding(self):
        n, v = self.p["n"], self.p["vocab"]
        kind = self.kind("embd", 0, n)
        blk = Blocks(kind, 1.0, self.rng("token_embd.weight"))
        self.embed_first = blk.first
        bpr = n // blk.per
        share = min(self.a.topic_share * bpr, bpr - 1)
        m = int(share)              # whole blocks from the topic; some tokens get one more to meet the share
        more = (np.arange(v) * 40503 % 65536) < (share - m) * 65536
        nt = 64
        topic = (np.arange(v) * 2654435761 % 4294967296) // 65536 % nt
        i = np.arange(19999, -1, -1)
        topic[(100 + i * 7919 % 20000) % v] = i // max(1, self.a.topic_len) % nt
        self.topic_blocks = round(float(m + more.mean()), 2)

        def make():
            pat = Blocks(kind, 1.0, self.rng("topics")).make(nt * (m + 1)).reshape(nt, m + 1, blk.size)
            step = max(1, (8 << 20) // (bpr * blk.size))
            for r in range(0, v, step):
                k = min(step, v - r)
                b = blk.make(k * bpr).reshape(k, bpr, blk.size)
                if m:
                    b[:, 1:1 + m] = pat[topic[r:r + k], :m]
                e = more[r:r + k]
                if e.any():
                    b[e, 1 + m] = pat[topic[r:r + k][e], m]
                head = np.ascontiguousarray(b[:, 0])
                blk.set_first(head)
                b[:, 0] = head
                yield b
        self.tensors.append(("token_embd.weight", (n, v), kind, make))

    def build(self):
        n, v = self.p["n"], self.p["vocab"]
        self.embedding()
        self.norm("output_norm.weight", n, 0.0)
        self.mat("output.weight", (n, v), self.a.logit_std / np.sqrt(n), "output")
        for i in range(self.L):
            self.layer(i)
        if self.a.mtp:
            # one extra block that predicts the token after the next; full attention in every case
            if self.p["arch"] not in ("qwen35moe", "glm4moe"):
                raise SystemExit("--mtp: models of this architecture have no such block")
            b = "blk.%d.nextn." % self.L
            self.layer(self.L, mtp=True)
            self.mat(b + "eh_proj.weight", (2 * n, n), (2 * n) ** -0.5, "eh_proj", self.L)
            for x in ("enorm", "hnorm", "shared_head_norm"):
                self.norm(b + x + ".weight", n)

    def metadata(self, w):
        p, a = self.p, self.p["arch"]
        w.meta("general.architecture", a)
        w.meta("general.type", "model")
        w.meta("general.name", "synthetic %s" % self.a.preset)
        w.meta("general.description", "random weights; seed %d, skew %g" % (self.a.seed, self.a.skew))
        w.meta("general.file_type", FILE_TYPE[self.quant])
        w.meta("general.quantization_version", 2)

        def k(key, val, kind=None):
            w.meta(a + "." + key, val, kind)
        k("block_count", self.L + (1 if self.a.mtp else 0))
        if self.a.mtp:
            k("nextn_predict_layers", 1)
        k("context_length", p["ctx"])
        k("embedding_length", p["n"])
        k("feed_forward_length", p.get("dense_ff", p["ff"]))
        k("attention.head_count", p["heads"])
        k("attention.head_count_kv", p["kv"])
        k("attention.layer_norm_rms_epsilon", p["eps"])
        k("rope.freq_base", float(p["base"]))
        k("rope.dimension_count", p["rope"])
        k("expert_count", p["experts"])
        k("expert_used_count", p["used"])
        k("vocab_size", p["vocab"])
        if a == "deepseek2":
            if self.L not in (26, 27):      # llama.cpp takes other layer counts for models with a query rank
                k("attention.q_lora_rank", 0)
            k("attention.kv_lora_rank", p["lora"])
            k("attention.key_length", p["lora"] + p["rope"])
            k("attention.value_length", p["lora"])
            k("attention.key_length_mla", p["nope"] + p["rope"])
            k("attention.value_length_mla", p["vdim"])
            k("rope.scaling.yarn_log_multiplier", p["yarn_log"])
        else:
            k("attention.key_length", p["hd"])
            k("attention.value_length", p["hd"])
        if a != "llama":
            k("expert_feed_forward_length", p["ff"])
        if a in ("deepseek2", "glm4moe"):
            k("leading_dense_block_count", p["lead"])
            k("expert_shared_count", p["shared"])
            k("expert_weights_scale", 1.0)
            k("expert_weights_norm", a == "glm4moe")
            k("expert_gating_func", 2 if a == "glm4moe" else 1)
        if a == "qwen35moe":
            k("expert_shared_feed_forward_length", p["shared_ff"])
            k("rope.dimension_sections", p["sections"], "i32[]")
            k("full_attention_interval", p["interval"])
            k("ssm.conv_kernel", p["conv"])
            k("ssm.state_size", p["state"])
            k("ssm.group_count", p["groups"])
            k("ssm.time_step_rank", p["dt"])
            k("ssm.inner_size", p["dt"] * p["state"])
        if a == "gpt-oss":
            k("attention.sliding_window", p["window"])
        if "yarn" in p:
            k("rope.scaling.type", "yarn")
            k("rope.scaling.factor", p["yarn"][0])
            k("rope.scaling.original_context_length", p["yarn"][1])
        tokens, types, merges, ids = build_vocab(p["vocab"], p["special"])
        w.meta("tokenizer.ggml.model", "gpt2")
        w.meta("tokenizer.ggml.pre", p["pre"])
        w.meta("tokenizer.ggml.tokens", tokens, "str[]")
        w.meta("tokenizer.ggml.token_type", types, "i32[]")
        w.meta("tokenizer.ggml.merges", merges, "str[]")
        for key, name in (("bos", "bos"), ("eos", "eos"), ("eot", "eot"), ("pad", "padding")):
            if key in p:
                w.meta("tokenizer.ggml.%s_token_id" % name, ids[p[key]])
        w.meta("tokenizer.ggml.add_bos_token", bool(p.get("add_bos", False)))
        if "template" in p:
            w.meta("tokenizer.chat_template", p["template"])


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("out", nargs="?", help="file to write")
    ap.add_argument("--preset", choices=sorted(PRESETS))
    ap.add_argument("--list", action="store_true", help="list presets with their sizes and exit")
    ap.add_argument("--layers", type=int, help="number of layers (default: as the real model)")
    ap.add_argument("--quant", choices=sorted(FILE_TYPE), help="default q4_k_m; mxfp4 for gpt-oss")
    ap.add_argument("--vocab", type=int, help="vocabulary size (default: as the real model)")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--skew", type=float, default=0.0, help="Zipf exponent of expert popularity, 0 = uniform; 0.7 is close to a real model")
    ap.add_argument("--router-std", type=float, default=1.5, help="spread of the token-dependent router logits")
    ap.add_argument("--topic-share", type=float, default=0.65, help="share of an embedding common to its topic, 0..1")
    ap.add_argument("--topic-len", type=int, default=48, help="tokens of the benchmark sequence per topic")
    ap.add_argument("--logit-std", type=float, default=2.5, help="standard deviation of the output logits")
    ap.add_argument("--mtp", action="store_true", help="add the multi-token-prediction block (qwen35moe, glm4moe)")
    ap.add_argument("--split-gb", type=float, default=0, help="split into parts of at most this size")
    ap.add_argument("--drop-cache", action="store_true", help="flush and leave nothing in the page cache")
    ap.add_argument("--dry-run", action="store_true", help="print sizes, write nothing")
    a = ap.parse_args()

    if a.list:
        for name in PRESETS:
            a.preset = name
            s = Synth(a)
            s.build()
            w = GGUFWriter("x")
            for t in s.tensors:
                w.tensor(*t[:3])
            par = sum(int(np.prod(t[1])) for t in s.tensors)
            print("%-18s %-10s %3d layers %4d tensors %8.2f G parameters %8.2f GB as %s" % (
                name, s.p["arch"], s.L, len(s.tensors), par / 1e9, w.total_bytes() / 1e9, s.quant))
        return 0
    if not a.preset or not (a.out or a.dry_run):
        ap.error("--preset and a file name are needed")
    s = Synth(a)
    s.build()
    w = GGUFWriter(a.out or "x.gguf", int(a.split_gb * 1e9), drop_cache=a.drop_cache)
    for t in s.tensors:
        w.tensor(*t[:3])
    t0 = time.time()
    if not a.dry_run:
        s.metadata(w)
        w.begin()
        for name, _, _, make in s.tensors:
            w.data(name, make())
        w.close()
    dt = time.time() - t0
    kinds = {}
    for t in s.tensors:
        kinds[t[2]] = kinds.get(t[2], 0) + 1
    print(json.dumps({"preset": a.preset, "quant": s.quant, "layers": s.L, "tensors": len(s.tensors),
                      "parameters": sum(int(np.prod(t[1])) for t in s.tensors), "bytes": w.total_bytes(),
                      "types": kinds, "topic_blocks": s.topic_blocks, "seconds": round(dt, 2),
                      "MB_per_s": round(w.total_bytes() / 1e6 / dt, 1) if not a.dry_run else None}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
