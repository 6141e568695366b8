"""The fields that the files of deploy/ may have, by what reads them, and a check for them.

A schema is a dict of fields (a name that ends with ! has to be there; "*" stands for any name), a list with the schema
of its elements, a set of allowed values, a compiled expression that a text has to match, or a type.
"""
import re

TEXT, WHOLE, TRUTH = str, int, bool
SECONDS = re.compile(r"\d+[sm]")
AMOUNT = re.compile(r"\d+(Gi|Mi|m)?")


def faults(value, schema, place="$"):
    """Sentences on what does not fit"""
    if isinstance(schema, dict):
        if not isinstance(value, dict):
            return ["%s is no mapping" % place]
        names = {name.rstrip("!"): inner for name, inner in schema.items()}
        found = ["%s lacks %s" % (place, n[:-1]) for n in schema if n.endswith("!") and n[:-1] not in value]
        for name, inner in value.items():
            at = "%s.%s" % (place, name)
            if name in names or "*" in names:
                found += faults(inner, names.get(name, names.get("*")), at)
            else:
                found.append("%s is unknown" % at)
        return found
    if isinstance(schema, list):
        if not isinstance(value, list):
            return ["%s is no list" % place]
        return [f for i, inner in enumerate(value) for f in faults(inner, schema[0], "%s[%d]" % (place, i))]
    if isinstance(schema, set):
        return [] if value in schema else ["%s may not be %s" % (place, value)]
    if isinstance(schema, re.Pattern):
        return [] if isinstance(value, str) and schema.fullmatch(value) else ["%s is not like %s" % (place, schema.pattern)]
    right = isinstance(value, schema) and (schema is bool or not isinstance(value, bool))
    return [] if right else ["%s is no %s" % (place, schema.__name__)]


META = {"name!": TEXT, "labels": {"*": TEXT}, "annotations": {"*": TEXT}}
PROBE = {"httpGet!": {"path!": re.compile("/.*"), "port!": object}, "periodSeconds": WHOLE, "timeoutSeconds": WHOLE,
         "failureThreshold": WHOLE}
RESOURCES = {"cpu": AMOUNT, "memory": AMOUNT}
CONTAINER = {
    "name!": TEXT, "image!": TEXT, "imagePullPolicy": {"IfNotPresent", "Always", "Never"}, "command": [TEXT], "args": [TEXT],
    "env": [{"name!": re.compile("[A-Z_]+"), "value!": TEXT}],
    "ports": [{"name": TEXT, "containerPort!": WHOLE, "protocol": {"TCP"}}],
    "startupProbe": PROBE, "readinessProbe": PROBE, "livenessProbe": PROBE,
    "lifecycle": {"preStop": {"exec!": {"command!": [TEXT]}}},
    "resources": {"requests": RESOURCES, "limits": RESOURCES},
    "securityContext": {"allowPrivilegeEscalation": TRUTH, "privileged": TRUTH, "readOnlyRootFilesystem": TRUTH,
                        "runAsNonRoot": TRUTH, "capabilities": {"drop": [{"ALL"}]}},
    "volumeMounts": [{"name!": TEXT, "mountPath!": re.compile("/.*"), "readOnly": TRUTH}],
}
VOLUME = {"name!": TEXT, "persistentVolumeClaim": {"claimName!": TEXT, "readOnly": TRUTH}, "secret": {"secretName!": TEXT},
          "emptyDir": {}}
POD = {
    "terminationGracePeriodSeconds": WHOLE, "automountServiceAccountToken": TRUTH,
    "securityContext": {"runAsNonRoot": TRUTH, "runAsUser": WHOLE, "runAsGroup": WHOLE, "fsGroup": WHOLE,
                        "seccompProfile": {"type!": {"RuntimeDefault"}}},
    "containers!": [CONTAINER], "volumes": [VOLUME],
}


def resource(version, kind, **fields):
    return {"apiVersion!": {version}, "kind!": {kind}, "metadata!": META, **fields}


KINDS = {
    "Deployment": resource("apps/v1", "Deployment", **{"spec!": {
        "replicas": WHOLE, "selector!": {"matchLabels!": {"*": TEXT}}, "template!": {"metadata!": {"labels!": {"*": TEXT},
                                                                                     "annotations": {"*": TEXT}}, "spec!": POD}}}),
    "Service": resource("v1", "Service", **{"spec!": {
        "selector!": {"*": TEXT}, "sessionAffinity": {"ClientIP", "None"},
        "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": WHOLE}},
        "ports!": [{"name": TEXT, "port!": WHOLE, "targetPort": object}]}}),
    "ConfigMap": resource("v1", "ConfigMap", **{"data!": {"*": TEXT}}),
    "InferencePool": resource("inference.networking.k8s.io/v1", "InferencePool", **{"spec!": {
        "selector!": {"matchLabels!": {"*": TEXT}}, "targetPorts!": [{"number!": WHOLE}],
        "endpointPickerRef!": {"group": TEXT, "kind": TEXT, "name!": TEXT, "port": {"number!": WHOLE},
                               "failureMode": {"FailOpen", "FailClose"}}}}),
    "Kustomization": {"apiVersion!": {"kustomize.config.k8s.io/v1beta1"}, "kind!": TEXT, "resources!": [TEXT],
                      "images": [{"name!": TEXT, "newName": TEXT, "newTag": TEXT}]},
    "EndpointPickerConfig": {
        "apiVersion!": {"llm-d.ai/v1alpha1"}, "kind!": TEXT,
        "plugins!": [{"name": TEXT, "type!": TEXT, "parameters": {
            "scheme": {"http", "https"}, "path": TEXT, "insecureSkipVerify": TRUTH, "engineLabelKey": TEXT, "defaultEngine": TEXT,
            "engineConfigs": [{"name!": TEXT, "queuedRequestsSpec!": TEXT, "runningRequestsSpec!": TEXT, "kvUsageSpec!": TEXT,
                               "loraSpec": TEXT, "cacheInfoSpec": TEXT, "cacheBlockSizeSpec": TEXT, "cacheNumBlocksSpec": TEXT}]}}],
        "schedulingProfiles!": [{"name!": TEXT, "plugins!": [{"pluginRef!": TEXT, "weight": WHOLE}]}]},
    "ServingRuntime": resource("serving.kserve.io/v1alpha1", "ServingRuntime", **{"spec!": {
        "annotations": {"*": TEXT}, "multiModel": TRUTH, "protocolVersions": [{"v1", "v2", "grpc-v2"}],
        "supportedModelFormats!": [{"name!": TEXT, "version": TEXT, "autoSelect": TRUTH, "priority": WHOLE}],
        "containers!": [CONTAINER], "volumes": [VOLUME]}}),
    "InferenceService": resource("serving.kserve.io/v1beta1", "InferenceService", **{"spec!": {"predictor!": {
        "minReplicas": WHOLE, "maxReplicas": WHOLE, "terminationGracePeriodSeconds": WHOLE,
        "model!": {"runtime": TEXT, "modelFormat!": {"name!": TEXT}, "storageUri!": re.compile(r"(pvc|hf|https)://.+")}}}}),
}
PLAIN = {
    "compose.yaml": {
        "name": TEXT, "volumes": {"*": object}, "secrets": {"*": {"file!": TEXT}},
        "services!": {"*": {
            "image": TEXT, "build": {"context!": TEXT, "dockerfile": TEXT}, "environment": {"*": TEXT},
            "ports": [re.compile(r"127\.0\.0\.1:\d+:\d+")], "volumes": [TEXT], "secrets": [TEXT], "mem_limit": TEXT,
            "stop_grace_period": SECONDS, "restart": {"no", "always", "on-failure", "unless-stopped"}, "read_only": TRUTH,
            "tmpfs": [TEXT], "cap_drop": [TEXT], "security_opt": [TEXT]}}},
    "llama-swap.yaml": {
        "healthCheckTimeout": WHOLE, "startPort": WHOLE,
        "models!": {"*": {"cmd!": TEXT, "proxy": TEXT, "checkEndpoint": re.compile("/.*"), "ttl": WHOLE, "aliases": [object]}}},
    "litellm.yaml": {
        "model_list!": [{"model_name!": TEXT, "model_info": {"mode!": {"chat", "completion", "embedding"}}, "litellm_params!": {
            "model!": re.compile("openai/.+"), "api_base!": re.compile("http.+/v1"), "api_key!": re.compile("os.environ/[A-Z_]+"),
            "timeout": WHOLE, "stream_timeout": WHOLE}}],
        "litellm_settings": {"num_retries": WHOLE, "request_timeout": WHOLE},
        "general_settings": {"background_health_checks": TRUTH}},
}


def schema_of(place, document):
    """place: the file below deploy/, or FILE:NAME of a file in a ConfigMap"""
    return PLAIN.get(place) or KINDS[document["kind"]]
