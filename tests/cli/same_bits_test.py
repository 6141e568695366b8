"""The same bits for every number of threads, every chunk length, both tables of kernels, and any place in the file."""
import re
import shutil
import struct

import harness
from harness import gguf_io, run

BASE = {"--threads": 1, "--chunk": 512}
WAYS = [
    ({"--threads": 2}, None),
    ({"--threads": 3}, None),
    ({"--chunk": 1}, None),
    ({"--chunk": 7}, None),
    ({"--chunk": 64}, None),
    ({}, "scalar"),
    ({}, "avx2"),
    ({"--threads": 3, "--chunk": 7}, "scalar"),
]


def has_avx2():
    return re.search(r"\bavx2\b", open("/proc/cpuinfo").read()) is not None


class SameBits(harness.Case):
    def bits(self, model, ids, flags, isa=None):
        out, routes = self.path("logits.f32"), self.path("routes.txt")
        words = [w for pair in {**BASE, **flags}.items() for w in pair]
        self.good(run("logits", model, "--ids", ids, "-o", out, "--routes", routes, *words,
                      env={"FREETOKEN_ISA": isa} if isa else None))
        return out.read_bytes(), sorted(routes.read_text().splitlines())

    def ids(self, case, n=500):
        return self.write("ids.txt", " ".join(str((17 + i * 7919) % case["vocab"]) for i in range(n)))

    def test_500_ids(self):
        """Every way on the first model of each architecture, the hardest one on all others."""
        seen = set()
        for name, model, case in harness.small_models():
            ids = self.ids(case)
            want = self.bits(model, ids, {})
            for flags, isa in WAYS if case["arch"] not in seen else WAYS[-1:]:
                with self.subTest(case=name, flags=flags, isa=isa):
                    if isa == "avx2" and not has_avx2():
                        self.skipTest("this CPU has no AVX2")
                    self.assertTrue(self.bits(model, ids, flags, isa) == want)
            seen.add(case["arch"])

    def test_experts_at_any_alignment(self):
        """The tensors of one model, shifted by an odd number of bytes: alignment 1 puts them one behind the other."""
        for name in ("qwen3moe-q4km", "qwen3moe-f32"):
            source = harness.SMALL / name / "model.gguf"
            case = next(c for n, _, c in harness.small_models() if n == name)
            shifted = self.path(name + "-shifted.gguf")
            write_shifted(source, shifted)
            ids = self.ids(case, 40)
            with self.subTest(case=name):
                self.assertTrue(self.bits(source, ids, {}) == self.bits(shifted, ids, {}))
            with self.subTest(case=name, isa="scalar"):
                self.assertTrue(self.bits(source, ids, {}) == self.bits(shifted, ids, {}, "scalar"))

    def test_the_name_of_the_file_does_not_matter(self):
        case = next(harness.small_models())
        copy = shutil.copy(case[1], self.path("模型 with spaces.gguf"))
        ids = self.ids(case[2], 8)
        self.assertTrue(self.bits(case[1], ids, {}) == self.bits(copy, ids, {}))


def write_shifted(source, target):
    """The same model with alignment 1 and one byte of nothing before the first tensor."""
    f = gguf_io.GGUFFile(str(source))
    keys = [(k, v, f.meta_type[k]) for k, v in f.meta.items() if k != "general.alignment"]
    keys.append(("general.alignment", 1, "u32"))
    head = gguf_io.MAGIC + struct.pack("<IQQ", 3, len(f.tensors) + 1, len(keys))
    for key, value, kind in keys:
        number, payload = gguf_io._encode(value, kind)
        head += gguf_io._s(key) + struct.pack("<I", number) + payload
    table, data = gguf_io._s("unused.shift") + struct.pack("<IQIQ", 1, 1, gguf_io.TYPE_ID["I8"], 0), b"\0"
    for t in f.tensors.values():
        table += gguf_io._s(t.name) + struct.pack("<I", len(t.shape)) + struct.pack("<%dQ" % len(t.shape), *t.shape)
        table += struct.pack("<IQ", t.type, len(data))
        data += f.raw(t.name).tobytes()
    target.write_bytes(head + table + data)


if __name__ == "__main__":
    harness.main()
