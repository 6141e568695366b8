"""What the whole-program tests share: running freetoken, reading its output, leaving results for tools/test_report.

The program is named by FREETOKEN_PROGRAM (default build/release/freetoken). A test file ends with harness.main().
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

TOP = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("FREETOKEN_PROGRAM", str(TOP / "build/release/freetoken"))
SMALL = TOP / "tests/goldens/small"
DEMO = TOP / "models/freetoken-demo-q4_k_m.gguf"
sys.path.insert(0, str(TOP / "tools"))
import gguf_io  # noqa: E402


class Run:
    """One finished run of the program."""

    def __init__(self, args, done):
        self.args, self.rc, self.out = args, done.returncode, done.stdout
        self.err = done.stderr.decode("utf-8", "replace")

    @property
    def text(self):
        return self.out.decode("utf-8")

    def json(self):
        return json.loads(self.text)

    def lines(self):
        return [json.loads(line) for line in self.text.splitlines()]

    def __str__(self):
        return "freetoken %s: exit %d\n%s" % (" ".join(map(str, self.args)), self.rc, self.err[-1500:])


def environment(more=None):
    e = {k: v for k, v in os.environ.items() if not k.startswith("FREETOKEN_")}
    # libedit keeps the text of its key bindings to the end
    e.setdefault("LSAN_OPTIONS", "suppressions=%s" % (pathlib.Path(__file__).resolve().parent / "leaks_of_others.txt"))
    e.update(more or {})
    return e


def run(*args, stdin=b"", env=None, limit=120):
    stdin = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run([PROGRAM] + [str(a) for a in args], input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=environment(env), timeout=limit)
    return Run(args, done)


def ask(prompt, *flags, model=DEMO, **more):
    return run("run", model, "-p", prompt, *flags, **more)


def models_in(goldens):
    """The case folders in a folder -> (name, file to open, case.json)"""
    for folder in sorted(goldens.iterdir()):
        case = json.loads((folder / "case.json").read_text())
        yield folder.name, folder / case["files"][0], case


def small_models():
    return models_in(SMALL)


def write_gguf(path, architecture, tensors, metadata=()):
    """tensors: [(name, shape with the row length first, type name, bytes)]; metadata: [(key, value, kind)]"""
    w = gguf_io.GGUFWriter(str(path))
    if architecture:
        w.meta("general.architecture", architecture)
    for key, value, kind in metadata:
        w.meta(key, value, kind)
    for name, shape, kind, _ in tensors:
        w.tensor(name, shape, kind)
    w.begin()
    for name, _, _, raw in tensors:
        w.data(name, raw)
    w.close()


def contents(model):
    """What write_gguf needs to write the same model again -> (tensors, metadata)"""
    f = gguf_io.GGUFFile(str(model))
    tensors = [(t.name, t.shape, t.type_name, f.raw(t.name).tobytes()) for t in f.tensors.values()]
    return tensors, [(k, v, f.meta_type[k]) for k, v in f.meta.items() if not k.startswith("split.")]


def test_data(path):
    """A file or folder of the optional reference data, or the test is skipped."""
    root = os.environ.get("FREETOKEN_TEST_DATA")
    if not root or not (pathlib.Path(root) / path).exists():
        raise unittest.SkipTest("needs FREETOKEN_TEST_DATA/%s" % path)
    return pathlib.Path(root) / path


class Case(unittest.TestCase):
    """A test with a temporary folder and the checks that many tests need."""

    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="freetoken-test-"))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def path(self, name):
        return self.folder / name

    def write(self, name, content):
        path = self.path(name)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def good(self, r):
        self.assertEqual(r.rc, 0, str(r))
        return r

    def refused(self, r, *words):
        """Exit 2 and one sentence on standard error that holds every word; nothing on standard output."""
        self.assertEqual(r.rc, 2, str(r))
        sentences = [l for l in r.err.splitlines() if l.strip() and not l.startswith("[")]
        self.assertTrue(1 <= len(sentences) <= 3, "one to three lines expected\n%s" % r)
        for word in words:
            self.assertIn(str(word).lower(), r.err.lower(), str(r))
        self.assertEqual(r.out, b"", str(r))


class Results(unittest.TextTestResult):
    """Keeps every case and subtest, and writes them in GoogleTest's form."""

    def __init__(self, *args, **kw):
        super().__init__(*args, **kw)
        self.cases, self.with_subtests = [], set()

    def keep(self, test, result, text=""):
        self.cases.append((test.id().replace("__main__.", ""), result, text))

    def short(self, err, test):
        """A failed check says what was wrong; anything else needs its traceback."""
        return str(err[1]) if issubclass(err[0], test.failureException) else self._exc_info_to_string(err, test)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        self.with_subtests.add(test.id())
        self.keep(subtest, "failed" if err else "passed", self.short(err, test) if err else "")

    def addSuccess(self, test):
        super().addSuccess(test)
        if test.id() not in self.with_subtests:
            self.keep(test, "passed")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.keep(test, "failed", self.short(err, test))

    def addError(self, test, err):
        super().addError(test, err)
        self.keep(test, "failed", self.short(err, test))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.keep(test, "skipped", reason)

    def write(self, path):
        root = ET.Element("testsuites")
        suite = ET.SubElement(root, "testsuite", name=path.stem)
        for name, result, text in self.cases:
            group, _, rest = name.partition(".")
            case = ET.SubElement(suite, "testcase", classname=group, name=rest, status="run")
            if result != "passed":
                ET.SubElement(case, "failure" if result == "failed" else "skipped", message=printable(text))
        ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def printable(text):
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def main():
    if not os.access(PROGRAM, os.X_OK):
        sys.exit("%s is no program; name one by FREETOKEN_PROGRAM" % PROGRAM)
    runner = unittest.TextTestRunner(resultclass=Results, stream=sys.stdout, verbosity=1)
    result = unittest.main(testRunner=runner, exit=False).result
    folder = os.environ.get("FREETOKEN_TEST_RESULTS")
    if folder:
        result.write(pathlib.Path(folder) / (os.environ["FREETOKEN_TEST_NAME"] + ".xml"))
    sys.exit(0 if result.wasSuccessful() and result.testsRun else 1)
