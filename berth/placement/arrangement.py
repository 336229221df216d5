"""Whether the pods of a job fit on empty nodes together: resources, ports, and the rules between the job's own pods.

Pods are placed one after the other on the emptiest node that takes them, as kube-scheduler does with its default
scores. A large job is computed instead. Source: Kubernetes 1.36
`pkg/scheduler/framework/plugins/{noderesources,nodeports,interpodaffinity,podtopologyspread}` and JobSet 0.12.0
`pkg/webhooks/pod_webhook.go` (exclusive topology), read 2026-11-25.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from berth.jobs.pod_set import HostPort, PodAffinityTerm, PodSet, SpreadConstraint
from berth.placement.node_classes import NodeClass
from berth.placement.own_pods import OwnPods, own_scope
from berth.placement.room import ALL_RULES, Bin, Demand, PodRule, most_pods, rules_of

_MOST_STEPS = 400_000
"""Maximum of pods times nodes (or pods) that are simulated; a larger job is computed."""


def arrange(demands: Sequence[Demand], rules: frozenset[PodRule] = ALL_RULES) -> list[int]:
    """Return how many pods of each demand get a node when the nodes are empty, under these rules."""
    pods = sum(each.pod_set.count for each in demands)
    classes = list(dict.fromkeys(node for each in demands for node in each.classes))
    bins = sum(min(each.count, pods + 1) for each in classes)
    is_plain = len(demands) == 1 and rules.isdisjoint(rules_of(demands[0].pod_set))
    if is_plain or pods * max(bins, pods) > _MOST_STEPS:
        return [min(each.pod_set.count, most_pods(each, rules)) for each in demands]
    return _Arranger(demands, classes, rules, pods).place_all()


_Test = Callable[["Bin"], bool]
"""Whether a node may take the next pod."""


# --- pod by pod -------------------------------------------------------------------------------------------------------


class _Arranger:
    """Places pods one by one; `placed` has each placed pod as (demand, child job, number, node)."""

    def __init__(
        self, demands: Sequence[Demand], classes: Iterable[NodeClass], rules: frozenset[PodRule], pods: int
    ) -> None:
        self.demands = demands
        self.rules = rules
        self.bins = {
            node: [Bin(node, dict(node.amounts)) for _ in range(min(node.count, pods + 1))] for node in classes
        }
        self.outside: dict[NodeClass, Bin] = {}  # one of each class that takes none of the pods
        self.opened: Counter[str] = Counter()
        self.placed: list[tuple[int, int, int, Bin]] = []

    def place_all(self) -> list[int]:
        counts: list[int] = []
        for index, demand in enumerate(self.demands):
            pod_set = demand.pod_set
            children = max(1, pod_set.child_jobs)
            placed = 0
            for number in range(pod_set.count):
                child = number * children // pod_set.count
                placed += self._place(index, child, number)
            counts.append(placed)
        return counts

    def _place(self, index: int, child: int, number: int) -> bool:
        demand = self.demands[index]
        pod_set = demand.pod_set
        needs = {resource: amount for resource, amount in pod_set.node_requests.items() if amount}
        tests = self._tests(index, child, number)
        best: tuple[float, Bin] | None = None
        for node in demand.classes:
            limits = [resource for resource in needs if node.amount(resource) is not None]
            for each in self.bins[node]:
                if not each.pods and self.opened[node.group.pool] >= node.group.pool_nodes.max:
                    continue
                if any(each.free.get(resource, 0) < needs[resource] for resource in limits):
                    continue
                if PodRule.PORTS in self.rules and any(
                    _conflict(port, other) for port in pod_set.host_ports for other in each.ports
                ):
                    continue
                if not all(allows(each) for allows in tests):
                    continue
                score = _emptiness(each, needs)
                if best is None or score > best[0]:
                    best = score, each
        if best is None:
            return False
        chosen = best[1]
        self.opened[chosen.node_class.group.pool] += not chosen.pods
        chosen.pods += 1
        chosen.ports += pod_set.host_ports
        for resource, amount in needs.items():
            chosen.free[resource] = chosen.free.get(resource, 0) - amount
        self.placed.append((index, child, number, chosen))
        return True

    def _tests(self, index: int, child: int, number: int) -> list[_Test]:
        """Return the tests that a node must pass for the next pod."""
        pod_set = self.demands[index].pod_set
        tests: list[_Test] = []
        if PodRule.AFFINITY in self.rules:
            tests += self._near(index, child, number)
        if PodRule.ANTI_AFFINITY in self.rules:
            tests += [self._apart(term, index, child, number) for term in pod_set.pod_anti_affinity]
            for other, demand in enumerate(self.demands):
                if other != index:
                    tests += [self._kept_out(term, other, pod_set) for term in demand.pod_set.pod_anti_affinity]
        if PodRule.SPREAD in self.rules:
            tests += [self._evenly(each, index, child) for each in pod_set.spread]
        if PodRule.EXCLUSIVE in self.rules and any(each.pod_set.exclusive_topology for each in self.demands):
            tests.append(self._exclusively(index, child))
        return tests

    def _matching(self, term: PodAffinityTerm, index: int, child: int, number: int) -> list[Bin]:
        """Return the nodes of placed pods that a term of this pod selects."""
        found: list[Bin] = []
        for other, other_child, other_number, node in self.placed:
            scope = own_scope(term.selector, term, self.demands[index].pod_set, self.demands[other].pod_set)
            same = other == index
            if (
                scope is OwnPods.ALL
                or (scope is OwnPods.CHILD and same and other_child == child)
                or (scope is OwnPods.POD and same and other_number == number)
            ):
                found.append(node)
        return found

    def _near(self, index: int, child: int, number: int) -> list[_Test]:
        """Test that a pod is near pods that all of its affinity terms select; the first is free to choose.

        The first pod of a child job with an exclusive topology has a further term, which selects its own child job.
        """
        terms = self.demands[index].pod_set.pod_affinity
        if not terms:
            return []
        near = [set(map(id, self._matching(term, index, child, number))) for term in terms]
        selected = [node for _, _, _, node in self.placed if all(id(node) in each for each in near)]
        if self.demands[index].pod_set.exclusive_topology is not None:
            selected = [node for at, other, _, node in self.placed if (at, other) == (index, child)]

        def allows(node: Bin) -> bool:
            for term in terms:
                found, domains = node.domain(term.topology_key), {each.domain(term.topology_key) for each in selected}
                if found is None or (domains and found not in domains):
                    return False
            return True

        return [allows]

    def _apart(self, term: PodAffinityTerm, index: int, child: int, number: int) -> _Test:
        domains = {each.domain(term.topology_key) for each in self._matching(term, index, child, number)} - {None}
        return lambda node: node.domain(term.topology_key) not in domains

    def _kept_out(self, term: PodAffinityTerm, owner: int, pod_set: PodSet) -> _Test:
        """Test that no placed pod of another pod set keeps this one away by its own anti-affinity."""
        if own_scope(term.selector, term, self.demands[owner].pod_set, pod_set) is not OwnPods.ALL:
            return lambda _: True
        domains = {node.domain(term.topology_key) for index, _, _, node in self.placed if index == owner} - {None}
        return lambda node: node.domain(term.topology_key) not in domains

    def _evenly(self, constraint: SpreadConstraint, index: int, child: int) -> _Test:
        demand, key = self.demands[index], constraint.topology_key
        counts: Counter[object] = Counter()
        # Later pods of a child job with an exclusive topology select the domain of its first.
        exclusive = demand.pod_set.exclusive_topology if constraint.honours_affinity else None
        first = [node for at, other, _, node in self.placed if (at, other) == (index, child)][:1] if exclusive else []
        for node in demand.counted_by(constraint):
            for each in self.bins.get(node) or [self.outside.setdefault(node, Bin(node, {}))]:
                is_chosen = not (exclusive and first) or each.domain(exclusive) == first[0].domain(exclusive)
                if is_chosen and (domain := each.domain(key)) is not None:
                    counts[domain] += 0
        for other, _, _, node in self.placed:
            if own_scope(constraint.selector, None, demand.pod_set, self.demands[other].pod_set) is OwnPods.ALL:
                domain = node.domain(key)
                if domain in counts:
                    counts[domain] += 1
        own = own_scope(constraint.selector, None, demand.pod_set) is OwnPods.ALL
        least = min(counts.values(), default=0) if len(counts) >= constraint.min_domains else 0
        return lambda node: (
            (domain := node.domain(key)) is not None and counts[domain] + own - least <= constraint.max_skew
        )

    def _exclusively(self, index: int, child: int) -> _Test:
        """Test that a child job stays in one domain, and that no other child job is in it."""
        key = self.demands[index].pod_set.exclusive_topology
        own: set[object] = set()
        if key is not None:
            own |= {node.domain(key) for i, c, _, node in self.placed if (i, c) == (index, child)}
        taken = {
            (other_key, node.domain(other_key))
            for i, c, _, node in self.placed
            if (i, c) != (index, child)
            for other_key in {key, self.demands[i].pod_set.exclusive_topology} - {None}
            if other_key is not None
        }

        def allows(node: Bin) -> bool:
            if any(node.domain(each) == domain for each, domain in taken):
                return False
            if key is None:
                return True
            found = node.domain(key)
            return found is not None and (not own or found in own)

        return allows


def _conflict(port: HostPort, other: HostPort) -> bool:
    """Return whether two pods cannot have both ports on one node."""
    every = "0.0.0.0"
    same_address = port.address == other.address or every in (port.address, other.address)
    return (port.port, port.protocol) == (other.port, other.protocol) and same_address


def _emptiness(node: Bin, needs: dict[str, int]) -> float:
    """Return the share of cpu and memory that stays free: kube-scheduler prefers the node with the largest."""
    shares = [
        (node.free.get(resource, 0) - needs.get(resource, 0)) / total
        for resource in ("cpu", "memory")
        if (total := node.node_class.amounts.get(resource, 0))
    ]
    return sum(shares) / len(shares) if shares else 0.0
