"""What the repository says about itself: paths in documents, the include graph, the scripts."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import harness
from harness import TOP

PATH = re.compile(r"(?:src|tests|docs|tools|bench|fuzz|models|scripts|cmake|\.ci)(?:/[\w.+-]+)*/?")


def call(*command, env=None, cwd=TOP):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=cwd,
                          stdin=subprocess.DEVNULL, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Documents(harness.Case):
    def paths_in(self, document):
        """Paths in backquotes; NAME, ISA and TYPE in a path stand for any name, so only the folder is checked."""
        for code in re.findall(r"`([^`\n]+)`", (TOP / document).read_text(encoding="utf-8")):
            if PATH.fullmatch(code):
                yield re.split(r"/[^/]*(?:NAME|ISA|TYPE)", code)[0]

    def test_every_path_that_is_named_exists(self):
        for document, at_least in (("ARCHITECTURE.md", 30), ("CONTRIBUTING.md", 5), ("README.md", 5), ("docs/field.md", 5)):
            paths = list(self.paths_in(document))
            self.assertGreaterEqual(len(paths), at_least)
            for path in paths:
                with self.subTest(document=document, path=path):
                    self.assertTrue((TOP / path).exists(), path)

    def test_every_link_leads_somewhere(self):
        documents = [p for p in TOP.glob("*.md")] + list((TOP / "docs").rglob("*.md"))
        for document in documents:
            for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.read_text(encoding="utf-8")):
                if "://" not in link:
                    with self.subTest(document=document.name, link=link):
                        self.assertTrue((document.parent / link).exists())

    def test_architecture_stays_short(self):
        self.assertLess(len((TOP / "ARCHITECTURE.md").read_text().splitlines()), 150)


class Api(harness.Case):
    """docs/api.md has every route, and with docs/structured-output.md every field that is read of a body."""

    READ = re.compile(r'(?:\.|->)(?:find|text|boolean|number|integer)\(\s*"([A-Za-z_]+)"')
    ROW = re.compile(r'^    \{"([a-z_]+)",', re.M)
    OF_SCHEMAS = {"const", "enum", "properties"}  # of calls that a model writes

    def test_every_route(self):
        document = (TOP / "docs/api.md").read_text()
        routes = re.findall(r'\{"\w+", "(/[^"]*)"', (TOP / "src/server/routes.cpp").read_text())
        self.assertGreater(len(routes), 30)
        for route in routes:
            with self.subTest(route=route):
                self.assertRegex(document, r"`(POST |GET )?%s[`A-Z…]" % re.escape(route.rstrip("*")))

    def test_every_field(self):
        words = set(re.findall(r"\w+", (TOP / "docs/api.md").read_text() + (TOP / "docs/structured-output.md").read_text()))
        fields = set()
        for path in (TOP / "src/server").rglob("*.cpp"):
            if not path.name.endswith("_test.cpp"):
                fields |= set(self.READ.findall(path.read_text()))
        for table in ("sampling_fields.cpp", "unoffered_fields.cpp"):
            fields |= set(self.ROW.findall((TOP / "src/server" / table).read_text()))
        self.assertGreater(len(fields), 90)
        self.assertEqual(sorted(fields - words - self.OF_SCHEMAS), [])


class IncludeGraph(harness.Case):
    def test_this_repository(self):
        rc, out, err = call(sys.executable, TOP / "tools/check_deps")
        self.assertEqual(rc, 0, out + err)

    def test_faults_are_found(self):
        table = (TOP / "tools/dependencies.txt").read_text()
        for name, path, line, words in (
            ("upwards", "src/quant/a.cpp", '#include "model/m.h"', "src/quant/a.cpp:1"),
            ("absent", "src/model/a.cpp", '#include "model/absent.h"', "no file"),
            ("foreign", "src/model/a.cpp", "#include <liburing.h>", "io"),
            ("unknown folder", "src/utils/a.cpp", "", "no row"),
        ):
            with self.subTest(name=name):
                root = self.folder / name.replace(" ", "-")
                for file, text in (("tools/dependencies.txt", table), ("src/model/m.h", ""), (path, line)):
                    (root / file).parent.mkdir(parents=True, exist_ok=True)
                    (root / file).write_text(text + "\n")
                rc, out, _ = call(sys.executable, TOP / "tools/check_deps", "--root", root)
                self.assertEqual(rc, 1, out)
                self.assertIn(words, out)
        circle = root / "tools/dependencies.txt"
        circle.write_text(table + "\n  0 odd base model\n")
        self.assertEqual(call(sys.executable, TOP / "tools/check_deps", "--root", root)[0], 2)


class Scripts(harness.Case):
    def bin_folder(self, name, **programs):
        """A folder of programs: bash and a few plain ones, and shell texts."""
        folder = self.folder / name
        folder.mkdir()
        for plain in ("bash", "env", "dirname", "cat"):
            os.symlink(shutil.which(plain), folder / plain)
        for program, text in programs.items():
            path = folder / program.replace("_", "-")
            path.write_text("#!/bin/sh\n" + text + "\n")
            path.chmod(0o755)
        return {"PATH": str(folder)}

    def install(self, env, *words):
        return call("/bin/bash", TOP / "scripts/install-packages", *(words or ("build",)), env=env)

    def test_without_root_and_sudo_it_prints_the_line_to_run(self):
        env = self.bin_folder("user", dpkg_query="exit 1", apt_get="exit 9", id="echo 1000")
        rc, out, err = self.install(env)
        self.assertEqual((rc, out), (2, ""))
        self.assertRegex(err, r"apt-get update && apt-get install -y \S.*g\+\+ cmake")

    def test_sudo_only_when_not_root(self):
        log = self.path("calls")
        record = 'echo "$0 $*" >> %s' % log
        for name, user, first in (("root", 0, "apt-get"), ("sudo", 1000, "sudo")):
            env = self.bin_folder(name, dpkg_query="exit 1", apt_get=record, sudo=record, id="echo %d" % user)
            self.assertEqual(self.install(env)[0], 0)
            calls = [line.split() for line in log.read_text().splitlines()]
            log.unlink()
            self.assertEqual([pathlib.Path(c[0]).name for c in calls], [first] * 2)
            self.assertIn("update", calls[0])
            self.assertIn("install", calls[1])

    def test_services_of_test_packages_stay_still(self):
        log, policy = self.path("calls"), pathlib.Path("/usr/sbin/policy-rc.d")
        record = 'echo "${0##*/} $*" >> %s' % log
        for name, present, want in (("new", ("haproxy",), ["nginx", "prometheus"]), ("had", ("haproxy", "nginx", "prometheus"), [])):
            env = self.bin_folder(name, apt_get=record, sudo=record, id="echo 1000", systemctl=record,
                                  dpkg_query='case "$*" in %s) printf installed ;; *) exit 1 ;; esac' % "|".join("*%s" % p for p in present))
            self.assertEqual(self.install(env, "tests")[0], 0)
            calls = [line.split() for line in log.read_text().splitlines()]
            log.unlink()
            self.assertEqual([c[-1] for c in calls if "systemctl" in c], want)
            steps = [next(word for word in ("update", "policy", "apt-get", "rm", "systemctl") if word in " ".join(c)) for c in calls]
            without_policy = not policy.exists()  # where there is one already, it is left alone
            self.assertEqual(steps.count("policy") + steps.count("rm"), 2 if want and without_policy else 0, calls)

    def test_nothing_is_done_when_all_is_there(self):
        env = self.bin_folder("there", dpkg_query="printf installed", apt_get="exit 9", id="echo 1000")
        self.assertEqual(self.install(env, "build", "tests"), (0, "", ""))

    def test_another_system_is_told_what_to_do(self):
        rc, _, err = self.install(self.bin_folder("other", id="echo 0"))
        self.assertEqual(rc, 2)
        self.assertIn("cmake --preset release", err)

    def test_only_the_tests_need_test_packages(self):
        _, build, _ = self.install(dict(os.environ), "--list", "build")
        for package in self.install(dict(os.environ), "--list", "tests")[1].split():
            self.assertNotIn(package, build.split())

    def clone(self, name, **programs):
        """A folder with scripts/run, a built program that prints its words, and the bundled model -> (folder, environment)"""
        top = self.folder / name
        for path, text in (("scripts/install-packages", "#!/bin/sh\n"), ("CMakeLists.txt", ""), ("CMakePresets.json", ""),
                           ("src/a.cpp", ""), ("cmake/a.cmake", ""), ("models/freetoken-demo-q4_k_m.gguf", ""),
                           ("build/release/freetoken", "#!/bin/sh\nprintf '%s|' \"$@\"\nexit 7\n"),
                           ("build/release/scripts-run.stamp", "")):
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_text(text)
            (top / path).chmod(0o755)
        shutil.copy(TOP / "scripts/run", top / "scripts/run")
        env = self.bin_folder(name + "-bin", cmake="echo cmake: no such generator; exit 1", **programs)
        return top, {"PATH": env["PATH"] + ":" + os.environ["PATH"]}

    def test_words_after_run_go_to_the_program(self):
        top, env = self.clone("a clone")
        link = self.path("run-link")
        os.symlink(top / "scripts/run", link)
        for script in (top / "scripts/run", link):
            self.assertEqual(call("/bin/bash", script, "show", "a file.gguf", env=env), (7, "show|a file.gguf|", ""))

    def test_without_words_and_terminal_run_asks_its_question(self):
        top, env = self.clone("question")
        rc, out, err = call("/bin/bash", top / "scripts/run", env=env)
        self.assertEqual(out, "run|%s|-p|What is FreeToken?|--temp|0|--repeat-penalty|1|" % (top / "models/freetoken-demo-q4_k_m.gguf"))
        self.assertEqual((rc, err), (7, "Question: What is FreeToken?\n"))
        (top / "models/freetoken-demo-q4_k_m.gguf").unlink()
        rc, out, err = call("/bin/bash", top / "scripts/run", env=env)
        self.assertEqual((rc, out), (2, ""))
        self.assertRegex(err, r"^scripts/run: the bundled model is missing: .*git checkout")

    def test_a_build_that_fails_ends_in_a_sentence_and_is_tried_again(self):
        top, env = self.clone("failing")
        later = (top / "build/release/scripts-run.stamp").stat().st_mtime + 2
        os.utime(top / "src/a.cpp", (later, later))
        for _ in range(2):
            rc, out, err = call("/bin/bash", top / "scripts/run", "show", env=env)
            self.assertEqual((rc, out), (2, ""))
            self.assertIn("cmake: no such generator", err)
            self.assertRegex(err.splitlines()[-1], r"^scripts/run: the build could not be prepared; see the message above\.")

    def test_unknown_words_are_refused(self):
        for script, words in (("install-packages", ["bild"]), ("install-packages", []), ("test", ["--al"])):
            rc, out, err = call("/bin/bash", TOP / "scripts" / script, *words)
            self.assertEqual((rc, out), (2, ""))
            self.assertTrue(err.startswith("scripts/" + script))


class Report(harness.Case):
    CASE = '<testsuites><testsuite><testcase classname="A" name="b" status="run">%s</testcase></testsuite></testsuites>'

    def report(self, name, listed="run", inner=None, env=None):
        folder = self.folder / name
        (folder / "dev").mkdir(parents=True)
        (folder / "dev/ctest.junit").write_text('<testsuite><testcase name="t" status="%s"/></testsuite>' % listed)
        if inner is not None:
            (folder / "dev/t.xml").write_text(self.CASE % inner)
        rc, out, _ = call(sys.executable, TOP / "tools/test_report", folder, env=harness.environment(env))
        return rc, out.splitlines()[-1], out

    def test_counts(self):
        self.assertEqual(self.report("good", inner="")[:2], (0, "1 passed, 0 failed, 0 skipped"))
        self.assertEqual(self.report("program")[:2], (0, "1 passed, 0 failed, 0 skipped"))
        self.assertEqual(self.report("bad", "fail", '<failure message="x"/>')[:2], (1, "0 passed, 1 failed, 0 skipped"))
        self.assertEqual(self.report("crash", "fail", "")[:2], (1, "1 passed, 1 failed, 0 skipped"))

    def test_a_skip_counts_only_while_its_data_is_absent(self):
        skip = '<skipped message="f.cpp:1&#10;needs FREETOKEN_TEST_DATA/some/file"/>'
        self.assertEqual(self.report("absent", inner=skip)[1], "0 passed, 0 failed, 1 skipped")
        (self.folder / "data/some").mkdir(parents=True)
        env = {"FREETOKEN_TEST_DATA": str(self.folder / "data")}
        self.assertEqual(self.report("absent-file", inner=skip, env=env)[1], "0 passed, 0 failed, 1 skipped")
        self.write("data/some/file", "x")
        self.assertEqual(self.report("present", inner=skip, env=env)[1], "0 passed, 1 failed, 0 skipped")

    def test_a_skip_for_want_of_a_newer_program(self):
        self.assertEqual(self.report("node-absent", inner='<skipped message="needs Node 2000"/>')[1], "0 passed, 0 failed, 1 skipped")
        self.write("node", "#!/bin/sh\necho v99.1.0\n").chmod(0o755)
        env = {"PATH": "%s:%s" % (self.folder, os.environ["PATH"])}
        self.assertEqual(self.report("node-here", inner='<skipped message="needs Node 20"/>', env=env)[1],
                         "0 passed, 1 failed, 0 skipped")

    def test_a_skip_without_a_known_reason_is_a_failure(self):
        self.assertEqual(self.report("odd", inner='<skipped message="not today"/>')[1], "0 passed, 1 failed, 0 skipped")


if __name__ == "__main__":
    harness.main()
