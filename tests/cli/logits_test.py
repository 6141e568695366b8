"""`freetoken logits` against goldens/small, and goldens/extended of FREETOKEN_TEST_DATA: rule 1 for the reference backend, rule 2 for the normal mode, routes."""
import numpy as np

import harness
from harness import SMALL, run

FLOATS = {"F32", "F16", "BF16"}


def parse_routes(text):
    return sorted(tuple(map(int, line.split())) for line in text.splitlines() if line.strip())


class Logits:
    """What holds for every case of cases(): (name, file to open, case.json). Ids and what is wanted lie beside the file."""

    def compute(self, name, model, case, *flags):
        """-> (logits [positions, vocabulary] f64, route lines)"""
        out, routes = self.path(name + ".f32"), self.path(name + ".routes")
        self.good(run("logits", model, "--ids", model.parent / "ids.txt", "-o", out, "--routes", routes, *flags))
        logits = np.fromfile(out, "<f4").astype(np.float64)
        self.assertEqual(logits.size, case["tokens"] * case["vocab"])
        return logits.reshape(case["tokens"], case["vocab"]), parse_routes(routes.read_text())

    def wanted(self, folder, case):
        logits = np.fromfile(folder / "logits.f32", "<f4").astype(np.float64)
        return logits.reshape(case["tokens"], case["vocab"]), parse_routes((folder / "routes.txt").read_text())

    def test_reference_backend(self):
        for name, model, case in self.cases():
            for flags in ((), ("--chunk", 1), ("--chunk", 5)):
                with self.subTest(case=name, flags=flags):
                    got, routes = self.compute(name, model, case, "--reference", *flags)
                    want, want_routes = self.wanted(model.parent, case)
                    self.assertLessEqual(np.abs(got - want).max(), case["reference_max_abs"])
                    self.assertEqual(routes, want_routes)

    def test_normal_mode(self):
        for name, model, case in self.cases():
            with self.subTest(case=name):
                got, routes = self.compute(name, model, case)
                want, want_routes = self.wanted(model.parent, case)
                self.assertEqual([r[:2] for r in routes], [r[:2] for r in want_routes])
                changed = [w[1] for g, w in zip(routes, want_routes) if g != w]
                self.assertLessEqual(len(changed), self.allowed_changes(case, len(want_routes)))
                kept = [p for p in range(case["tokens"]) if p not in changed]
                got, want = got[kept], want[kept]
                self.assertLessEqual(((got - want) ** 2).sum() / (want**2).sum(), case["fast_nmse_max"])
                best = np.sort(want, axis=1)
                clear = best[:, -1] - best[:, -2] > case["fast_argmax_gap"]
                self.assertTrue((got.argmax(1) == want.argmax(1))[clear].all())

    @staticmethod
    def allowed_changes(case, lines):
        allowed = 2 * max(case["llamacpp_as_stored"].get("route_lines_changed", {"": 0}).values(), default=0)
        return allowed if set(case["tensor_types"]) <= FLOATS else max(allowed, (lines + 19) // 20)


class Small(Logits, harness.Case):
    def cases(self):
        return harness.small_models()

    def test_any_part_of_a_split_model_may_be_named(self):
        for name, model, case in harness.small_models():
            if len(case["files"]) > 1:
                with self.subTest(case=name):
                    first, _ = self.compute(name, model, case)
                    last, _ = self.compute(name, SMALL / name / case["files"][-1], case)
                    self.assertTrue((first == last).all())


class Further(Logits, harness.Case):
    """Longer texts and other layouts of tensors, of the architectures that small/ has."""

    def cases(self):
        known = {case["arch"] for _, _, case in harness.small_models()}
        found = [c for c in harness.models_in(harness.test_data("goldens/extended")) if c[2]["arch"] in known]
        self.assertTrue(found)
        return found


if __name__ == "__main__":
    harness.main()
