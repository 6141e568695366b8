"""`freetoken show` against what the file itself says."""
import json

import numpy as np

import harness
from harness import DEMO, SMALL, TOP, gguf_io, run

QUANTS = TOP / "tests/goldens/quants"


class Show(harness.Case):
    def show(self, model, *flags):
        return self.good(run("show", model, "--json", *flags)).json()

    def test_sums_of_every_small_model(self):
        for name, model, _ in list(harness.small_models()) + [("demo", DEMO, None)]:
            with self.subTest(model=name):
                f, got = gguf_io.GGUFFile(str(model)), self.show(model, "--tensors")
                self.assertEqual(got["architecture"], f.meta["general.architecture"])
                self.assertEqual(got["layers"], f.arch("block_count") - f.arch("nextn_predict_layers", 0))
                self.assertEqual(got["context_length"], f.arch("context_length"))
                self.assertEqual(got["parameters"]["total"], sum(int(np.prod(t.shape)) for t in f.tensors.values()))
                by_type = {}
                for t in f.tensors.values():
                    by_type[t.type_name] = by_type.get(t.type_name, 0) + t.nbytes
                self.assertEqual(got["bytes"]["by_type"], by_type)
                self.assertEqual(sum(got["bytes"]["by_role"].values()), sum(by_type.values()))
                listed = {t["name"]: (tuple(t["shape"]), t["type"], t["bytes"]) for t in got["tensors"]}
                self.assertEqual(listed, {t.name: (t.shape, t.type_name, t.nbytes) for t in f.tensors.values()})

    def test_the_demo_model(self):
        got = self.show(DEMO)
        self.assertEqual(got["experts"]["count"], 24)
        self.assertEqual(got["experts"]["per_token"], 4)
        self.assertEqual(sum(c["layers"] for c in got["experts"]["size_classes"]), 5)
        self.assertEqual(got["kv_bytes_per_token"], 5 * 2 * 2 * 64 * 2)
        self.assertEqual(got["tokenizer"]["vocab_size"], 5120)
        self.assertEqual(got["parameters"]["total"], 27886976)
        self.assertIn("im_start", got["chat_template"])
        self.assertEqual(got["warnings"], [])
        text = self.good(run("show", DEMO)).text
        for word in ("qwen3moe", "Q4_K_M", "24", "apache"):
            self.assertIn(word.lower(), text.lower())

    def test_every_type_dequantises_to_the_bit(self):
        """Each type of goldens/quants as a tensor of a file of an unknown architecture."""
        for name, kind in json.loads((QUANTS / "types.json").read_text()).items():
            with self.subTest(type=name):
                raw, want = (QUANTS / (name + ".bin")).read_bytes(), np.fromfile(QUANTS / (name + ".f32"), "<u4")
                model, out = self.path(name + ".gguf"), self.path(name + ".f32")
                shape = (kind["row_elements"], want.size // kind["row_elements"])
                harness.write_gguf(model, "unheard", [("some.weight", shape, name, raw)])
                self.good(run("show", model, "--tensor", "some.weight", "-o", out))
                got = np.fromfile(out, "<u4")
                nan = np.isnan(got.view("<f4")) & np.isnan(want.view("<f4"))
                self.assertTrue(((got == want) | nan).all())

    def test_a_tensor_that_is_not_there(self):
        r = run("show", DEMO, "--tensor", "blk.0.attn_q.weigth", "-o", self.path("o"))
        self.refused(r, "blk.0.attn_q.weigth", "--tensors")

    def test_a_router_below_16_bits_is_a_warning(self):
        tensors, metadata = harness.contents(DEMO)
        for i, (name, shape, _, _) in enumerate(tensors):
            if name.endswith("ffn_gate_inp.weight"):
                tensors[i] = (name, shape, "Q8_0", bytes(int(np.prod(shape)) // 32 * 34))
        model = self.path("router.gguf")
        harness.write_gguf(model, None, tensors, metadata)
        self.assertIn("router", " ".join(self.show(model)["warnings"]).lower())

    def test_a_file_whose_data_is_cut_is_shown_with_a_warning(self):
        source = SMALL / "qwen3moe-q4km/model.gguf"
        cut = self.write("cut.gguf", source.read_bytes()[:-4096])
        self.assertTrue(self.show(cut)["warnings"])
        self.assertIn("warning", (lambda r: r.text + r.err)(self.good(run("show", cut))).lower())


if __name__ == "__main__":
    harness.main()
