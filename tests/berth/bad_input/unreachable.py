"""Rules that no stack file can break, with the reason; each is tested where it is written, on plans of its own."""

from __future__ import annotations

_ONE_WORD = "a pool's capacity is one word, so nobody can write two"
_NO_KEY = "no key of the stack file says it"
_DERIVED = "Berth derives it, and never so"
_EARLIER = "the schema or the planner refuses it first, in words of the stack file"
_NOT_MADE = "Berth makes no such object"

_REASONS: dict[str, str] = {
    _ONE_WORD: "dws-reservation dws-spot max-run-unknown",
    _NO_KEY: """
        bad-visibility boot-disk compact-blue-green driver-image dws-location-policy dynamic-slicing
    """,
    _DERIVED: """
        cluster-network unmanaged-resource
        bad-check-flavors bad-check-reference bad-class-parameters bad-controller bad-level bad-level-count
        bad-parameters-kind bad-provisioning-class bad-queue-reference bad-quota bad-resource-name bad-selector-update
        bad-selector-updates bad-toleration-effect bad-toleration-key bad-toleration-operator bad-topology-reference
        check-not-found check-on-every-flavor check-on-foreign-flavor check-twice check-without-queued config-not-found
        gates-in-two-places group-empty hostname-not-lowest level-twice queue-not-found queued-without-check
        quota-order reservation-zones resource-twice slice-size toleration-value-with-exists topology-not-found
        topology-without-labels unknown-class-parameter wrong-config-kind undeclared-resource
        bad-cluster-source bad-cluster-source-words multikueue-and-provisioning multikueue-on-flavors
        two-multikueue-checks
    """,
    _EARLIER: """
        bad-clusters bad-retention driver group-too-large sharing too-many-in-all too-many-pairs
        bad-admission-mode bad-cohort-reference bad-flavor-name bad-fungibility bad-merge-policy bad-node-label
        bad-parent-reference bad-priority bad-quota-check bad-run-duration bad-stop-policy bad-strategy bad-threshold
        borrow-without-reclaim cohort-cycle cohort-flavor-not-found description-too-long flavor-not-found
        flavor-twice lend-above-nominal too-many-checks too-many-groups too-many-node-labels too-many-tolerations
        unsupported-machine
    """,
    _NOT_MADE: """
        bad-node-taint bad-quota-management node-taint-twice too-many-node-taints
    """,
}

CODES = {code: reason for reason, codes in _REASONS.items() for code in codes.split()}
"""Code → why no case leads to it."""
