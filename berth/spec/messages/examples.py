"""The values that messages propose for a key: "write project: acme-ml-dev"."""

from __future__ import annotations

from typing import Final

from berth.diagnostics import FieldPath

EXAMPLES: Final[dict[str, str]] = {
    "acceptRoles.*": "<why>",
    "acceptSharedNamespace": "<why>",
    "accessProviders": "[{name: google, command: gke-gcloud-auth-plugin}]",
    "accessProviders.name": "google",
    "ack.clusters": "{<name>: {podCidrBlock: 10.64.0.0/16, nodePools: {…}}}",
    "ack.cpu": "128",
    "ack.gpu": "A100",
    "ack.gpus": "8",
    "ack.instanceType": "ecs.gn7e-c16g1.32xlarge",
    "ack.memory": "1000Gi",
    "ack.network": "{vpc: vpc-bp1x9, vswitches: [vsw-bp1x9]}",
    "ack.nodes": "2",
    "ack.region": "cn-hangzhou",
    "ack.vpc": "vpc-bp1x9",
    "ack.vswitches": "[vsw-bp1x9]",
    "admissionCheck": "dws-prov",
    "admissionMode": "UsageBasedAdmissionFairSharing",
    "authorizedNetworks.name": "office",
    "buckets.*": "roles/storage.objectUser",
    "capacityBuffers.pool": "<name>",
    "chart": "oci://registry.example/charts/kueue",
    "bucket": "my-checkpoints",
    "cidrBlock": "203.0.113.0/24",
    "cluster.network": "{existing: <name>, subnetwork: <subnetwork>, podRangeName: <range>, serviceRangeName: <range>}",
    "command": "gke-gcloud-auth-plugin",
    "computeClasses.priorities": "[{machineType: g2-standard-24, capacity: spot}]",
    "context": "<name>, one of those that kubectl config get-contexts lists",
    "count": "4",
    "cpu": "{max: 400}",
    "deviceClassNames": "[gpu.example.com]",
    "diskType": "pd-balanced",
    "end": '"2027-01-05T00:00:00Z"',
    "excludeResourcePrefixes": "ephemeral-storage",
    "flavors": "[{pool: <name>, guaranteed: 8}]",
    "fileCache.capacity": "50Gi",
    "hourly": "{<flavor>: 1.20}",
    "image": "<image>",
    "images.*": "<image>",
    "inMemoryVolumeSize": "50Gi",
    "input": "nvidia.com/mig-1g.10gb",
    "key": "reserved",
    "kubeconfig": "~/.kube/config",
    "machineType": "ct5lp-hightpu-4t",
    "max": "24",
    "maxSharedClients": "4",
    "memory": "{max: 1600}",
    "name": "<name>",
    "operator": "In",
    "platform": "dev",
    "ports": "[5432]",
    "priorities.value": "10",
    "project": "acme-ml-dev",
    "provisioningRequestConfig": "dws-config",
    "queue": "<queue>",
    "recurrence": "FREQ=WEEKLY;BYDAY=SA",
    "region": "us-central1",
    "secret": "hf-token",
    "start": '"2026-12-01T00:00:00Z"',
    "team": "<team>",
    "teamDefaults": "{cohort: <name>}",
    "teams": "[<team>]",
    "type": "nvidia-tesla-t4",
    "usageHalfLifeTime": "12h",
    "value": '"true"',
    "zone": "us-central1-a",
}
"""Key, section and key, or the key above and the key (`*` for any) → the example that messages propose."""


def example(path: FieldPath) -> str:
    """Return the example for the key at `path`, or for the list whose item is there; "" without one."""
    keys = [str(step) for step in path if isinstance(step, str)]
    above = keys[-2] if len(keys) > 1 else ""
    candidates = (f"{keys[0]}.{keys[-1]}", f"{above}.{keys[-1]}", f"{above}.*", keys[-1])
    return next((EXAMPLES[each] for each in candidates if each in EXAMPLES), "")
