"""The files of deploy/: each is checked by the program it is for where that is here, and by its fields."""
import os
import pathlib
import re
import shlex
import subprocess

import yaml

import deploy_fields
import harness
import proxies
import serving
from harness import DEMO, TOP, run

DEPLOY = TOP / "deploy"
DRAIN_SECONDS = 45
BASE_PACKAGES = {"libc6", "libstdc++6", "libgcc-s1"}  # in every image of Debian


def documents(file):
    """The documents of a YAML file; of a ConfigMap also the files in it, as FILE:NAME"""
    for document in yaml.safe_load_all((DEPLOY / file).read_text()):
        yield file, document
        if document.get("kind") == "ConfigMap":
            for name, text in document["data"].items():
                yield "%s:%s" % (file, name), yaml.safe_load(text)


def only(file):
    return next(documents(file))[1]


def call(*command, **more):
    done = subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=300, **more)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def variables(entries):
    """FREETOKEN_* of a Kubernetes container"""
    return {e["name"]: e["value"] for e in entries}


class Files(harness.Case):
    def test_every_file_is_in_the_table(self):
        text = (DEPLOY / "README.md").read_text()
        rows = [row for line in text.splitlines() if line.startswith("|") for row in re.findall(r"`([^`]+)`", line.split("|")[1])]
        for row in rows:
            self.assertTrue((DEPLOY / row).exists(), row)
        for path in DEPLOY.rglob("*"):
            name = str(path.relative_to(DEPLOY))
            if path.is_file() and name not in ("README.md", "Dockerfile.dockerignore"):
                self.assertTrue(any(name == row or (row.endswith("/") and name.startswith(row)) for row in rows), name)

    def test_fields(self):
        checked = 0
        for path in sorted(DEPLOY.rglob("*.yaml")):
            file = str(path.relative_to(DEPLOY))
            if file == "config.yaml":  # the program itself checks it
                continue
            for place, document in documents(file):
                with self.subTest(place=place):
                    self.assertEqual(deploy_fields.faults(document, deploy_fields.schema_of(place, document)), [])
                    checked += 1
        self.assertGreaterEqual(checked, 10)

    def test_wrong_fields_are_found(self):
        good = only("kubernetes/inferencepool.yaml")
        schema = deploy_fields.schema_of("kubernetes/inferencepool.yaml", good)
        for change, word in (({"targetPorts": [{"number": "8080"}]}, "number"), ({"targetPort": 8080}, "targetPort"),
                             ({"endpointPickerRef": {}}, "name"), ({"endpointPickerRef": {"name": "x", "failureMode": "Never"}}, "Never")):
            found = deploy_fields.faults({**good, "spec": {**good["spec"], **change}}, schema)
            self.assertTrue(any(word in fault for fault in found), found)


class Settings(harness.Case):
    def settings(self, *args, env=None):
        """What is in force -> {section: {key: value}}"""
        return yaml.safe_load(self.good(run(*args, "--print-config", env=env)).text)

    def in_force(self, env):
        got = self.settings("serve", env=env)
        for name, value in env.items():
            found = {"FREETOKEN_%s_%s" % (s.upper(), k.upper()): v for s, keys in got.items() for k, v in keys.items()}
            self.assertEqual(str(found[name]), value)

    def test_the_configuration_file(self):
        got = self.settings("serve", "--config", DEPLOY / "config.yaml")
        for section, keys in only("config.yaml").items():
            for key, value in keys.items():
                self.assertEqual(got[section][key], value)

    def test_the_variables_of_containers(self):
        self.in_force(only("compose.yaml")["services"]["freetoken"]["environment"])
        self.in_force(variables(only("kubernetes/deployment.yaml")["spec"]["template"]["spec"]["containers"][0]["env"]))
        self.in_force(variables(only("kserve/servingruntime.yaml")["spec"]["containers"][0]["env"]))
        self.in_force(dict(re.findall(r"(FREETOKEN_\w+)=(\S+)", (DEPLOY / "Dockerfile").read_text())))
        unit = (DEPLOY / "systemd/system/freetoken@.service").read_text().replace("%i", "8081")
        self.in_force(dict(re.findall(r"^Environment=(FREETOKEN_\w+)=(\S+)", unit, re.M)))

    def test_the_commands_of_llama_swap(self):
        models = only("llama-swap.yaml")["models"]
        for name, model in models.items():
            words = shlex.split(model["cmd"].replace("${PORT}", "10007"))
            self.assertEqual((words[:2], model["proxy"]), (["freetoken", "serve"], "http://127.0.0.1:${PORT}"))
            words = [str(DEMO) if word.endswith(".gguf") else word for word in words[1:]]
            self.assertEqual(self.settings(*words)["server"]["port"], 10007, name)


class Agreement(harness.Case):
    """What several files or fields have to say alike."""

    def pod(self):
        return only("kubernetes/deployment.yaml")["spec"]["template"]

    def test_labels_and_ports(self):
        deployment, service = only("kubernetes/deployment.yaml"), only("kubernetes/service.yaml")
        pool = only("kubernetes/inferencepool.yaml")["spec"]
        labels, container = self.pod()["metadata"]["labels"], self.pod()["spec"]["containers"][0]
        for selector in (deployment["spec"]["selector"]["matchLabels"], service["spec"]["selector"], pool["selector"]["matchLabels"]):
            self.assertTrue(selector.items() <= labels.items(), selector)
        ports = {p["name"]: p["containerPort"] for p in container["ports"]}
        self.assertEqual([ports[p["targetPort"]] for p in service["spec"]["ports"]], [8080])
        self.assertEqual(pool["targetPorts"], [{"number": 8080}])
        for mount in container["volumeMounts"]:
            self.assertIn(mount["name"], [v["name"] for v in self.pod()["spec"]["volumes"]])

    def test_time_to_drain(self):
        pod = self.pod()["spec"]
        pause = int(pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][1])
        seconds = {"pod": pod["terminationGracePeriodSeconds"] - pause,
                   "model": only("kserve/inferenceservice.yaml")["spec"]["predictor"]["terminationGracePeriodSeconds"],
                   "container": int(only("compose.yaml")["services"]["freetoken"]["stop_grace_period"].rstrip("s"))}
        for unit in DEPLOY.glob("systemd/*/*.service"):
            text = unit.read_text()
            seconds[unit.name] = int(re.search(r"^TimeoutStopSec=(\d+)$", text, re.M)[1])
            self.assertIn("KillSignal=SIGTERM", text)
        for name, value in seconds.items():
            self.assertGreater(value, DRAIN_SECONDS, name)

    def test_probes(self):
        for container in (self.pod()["spec"]["containers"][0], only("kserve/servingruntime.yaml")["spec"]["containers"][0]):
            paths = {name: container[name]["httpGet"]["path"] for name in ("startupProbe", "readinessProbe", "livenessProbe")}
            self.assertEqual(paths, {"startupProbe": "/health", "readinessProbe": "/health", "livenessProbe": "/health/live"})

    def test_the_picker_knows_its_engine(self):
        config = dict(documents("kubernetes/endpoint-picker.yaml"))["kubernetes/endpoint-picker.yaml:freetoken.yaml"]
        plugins = {p["type"]: p.get("parameters", {}) for p in config["plugins"]}
        engine = plugins["core-metrics-extractor"]
        self.assertEqual(self.pod()["metadata"]["labels"][engine["engineLabelKey"]], engine["defaultEngine"])
        self.assertEqual([e["name"] for e in engine["engineConfigs"]], [engine["defaultEngine"]])
        for profile in config["schedulingProfiles"]:
            self.assertTrue({p["pluginRef"] for p in profile["plugins"]} <= set(plugins))

    def test_image(self):
        text = (DEPLOY / "Dockerfile").read_text()
        stages = re.split(r"^FROM ", text, flags=re.M)[1:]
        self.assertEqual([s.split()[0] for s in stages], ["debian:12-slim"] * 2)
        self.assertRegex(stages[1], r"(?m)^USER (?!0|root)")
        kept = [l[1:] for l in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if l.startswith("!")]
        for sources in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.M):
            for source in sources.split():
                self.assertTrue((TOP / source).exists(), source)
                self.assertIn(source, kept)

    def test_the_image_has_the_libraries_of_the_program(self):
        proxies.program("dpkg-query")
        listed = set(re.findall(r"\blib[\w.+-]*\d", (DEPLOY / "Dockerfile").read_text().partition("FROM debian:12-slim\n")[2]))
        rc, dynamic = call("objdump", "-p", harness.PROGRAM)
        self.assertEqual(rc, 0, dynamic)
        needed = set(re.findall(r"NEEDED\s+(\S+)", dynamic))
        paths = dict(re.findall(r"^\s*(\S+) => (/\S+)", call("ldd", harness.PROGRAM)[1], re.M))
        files = [os.path.realpath(paths[library]) for library in needed & set(paths)]
        # the database knows a file below /usr/lib or below /lib, so one of the two is not found
        owners = call("dpkg-query", "-S", *files, *(f.removeprefix("/usr") for f in files))[1]
        packages = set(re.findall(r"^(\S+?)(?::\S+)?: /", owners, re.M))
        self.assertEqual(len(set(re.findall(r": (?:/usr)?(/lib/\S+)$", owners, re.M))), len(files), owners)
        self.assertEqual(packages - BASE_PACKAGES - listed, set())
        self.assertEqual(listed - packages, set())


class Programs(harness.Case):
    """What the programs themselves say of their files."""

    def verify(self, file, name, *flags):
        proxies.program("systemd-analyze")
        text = (DEPLOY / file).read_text()
        unit = self.write(name, re.sub(r"^(ExecStart=)\S+", r"\g<1>" + os.path.abspath(harness.PROGRAM), text, flags=re.M))
        rc, said = call("systemd-analyze", *flags, "verify", "--man=no", unit, env={**os.environ, "XDG_RUNTIME_DIR": str(self.folder)})
        about = [l for l in said.splitlines() if name.partition("@")[0] in l]
        self.assertEqual((rc, about), (0, []), said)
        return unit

    def test_system_unit(self):
        unit = self.verify("systemd/system/freetoken@.service", "freetoken@8080.service")
        rc, said = call("systemd-analyze", "security", "--offline=yes", "--threshold=20", "--no-pager", unit)
        self.assertEqual(rc, 0, said[-2000:])

    def test_user_unit(self):
        self.verify("systemd/user/freetoken.service", "freetoken.service", "--user")

    def test_a_wrong_unit_is_found(self):
        proxies.program("systemd-analyze")
        text = (DEPLOY / "systemd/user/freetoken.service").read_text().replace("Type=exec", "Type=exec\nExecStart=no/absolute/path")
        self.assertNotEqual(call("systemd-analyze", "verify", "--man=no", self.write("wrong.service", text))[0], 0)

    def accepted(self, kind):
        class Checked(kind):
            def wait_ready(self):
                self.process.wait(60)

            def command(self, check=True):
                return super().command(check)

        class Replica:
            def __init__(self):
                self.port = serving.free_port()

        proxies.program(kind.__name__.lower())
        proxy = Checked(self.folder, [Replica(), Replica()])
        said = (proxy.folder / "log").read_text()
        self.assertEqual(proxy.process.returncode, 0, said)
        self.assertNotRegex(said, r"(?i)warning|\[warn\]")

    def test_haproxy(self):
        self.accepted(proxies.Haproxy)

    def test_nginx(self):
        self.accepted(proxies.Nginx)


class Running(serving.ServedCase):
    """What the files ask of a running server."""

    def test_metrics_that_the_picker_reads(self):
        """One series each: of several the picker takes the first."""
        config = dict(documents("kubernetes/endpoint-picker.yaml"))["kubernetes/endpoint-picker.yaml:freetoken.yaml"]
        extractor = next(p for p in config["plugins"] if p["type"] == "core-metrics-extractor")
        names = [v for k, v in extractor["parameters"]["engineConfigs"][0].items() if k.endswith("Spec") and v]
        self.assertEqual(len(names), 4)
        samples = self.server.metrics()
        for name in names:
            found = [s for s in samples if s.partition("{")[0] == name]
            self.assertEqual(len(found), 1, name)
        cache = next(s for s in samples if s.startswith("vllm:cache_config_info{"))
        for label in ("block_size", "num_gpu_blocks"):
            self.assertRegex(cache, r'\b%s="\d+"' % label)

    def test_paths_of_probes(self):
        for path in ("/health", "/health/live", "/v1/models", "/metrics"):
            self.assertEqual(self.server.get(path).status, 200, path)

    def test_the_health_check_of_the_image(self):
        proxies.program("curl")
        words = re.search(r"HEALTHCHECK.*?CMD (\[.*?\])", (DEPLOY / "Dockerfile").read_text(), re.S)[1]
        command = yaml.safe_load(words)
        at = lambda port: [w.replace(":8080/", ":%d/" % port) for w in command]
        self.assertEqual(call(*at(self.server.port)), (0, ""))
        self.assertNotEqual(call(*at(serving.free_port()))[0], 0)


if __name__ == "__main__":
    harness.main()
