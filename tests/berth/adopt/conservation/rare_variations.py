"""What few people do to clusters: odd names, sub-blocks, sandboxes, flex-start, pools that differ in one setting."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping

from tests.berth.adopt.conservation.variations import Answers, Variation, held, machines, slices

_NAMES = (
    *("nodepool", "np-007", "a", "pool-2x4-0", "v5e-2x4-2x2x2-1", "x--1", "gpu-2x2", "system-1", "default-pool-1"),
    *("train-v6e-slice-00", "tpu-v5-lite-podslice-4x4-1", "one-of-the-longest-names-of-node-pools"),
)


def odd_names(rng: random.Random, answers: Answers) -> None:
    """Give some node pools names that look like slices, like Berth's own, or like nothing."""
    taken = {each["name"] for each in answers["node-pools.json"]}
    for node_pool in machines(answers):
        name = rng.choice(_NAMES)
        if name not in taken and rng.random() < 0.7:
            taken.add(name)
            node_pool["selfLink"] = node_pool["selfLink"].removesuffix(node_pool["name"]) + name
            node_pool["name"] = name


def sub_blocks(rng: random.Random, answers: Answers) -> None:
    """Use a sub-block of a reservation that somebody else made."""
    for values in held(answers):
        if "/" not in values[0] and rng.random() < 0.7:
            block = f"{values[0]}/reservationBlocks/{values[0]}-block-1"
            values[0] = f"{block}/reservationSubBlocks/{values[0]}-block-1-subblock-{rng.randint(1, 3)}"


def other_project(rng: random.Random, answers: Answers) -> None:
    """Use reservations that another project shares."""
    for values in held(answers):
        if rng.random() < 0.7:
            values[0] = f"projects/acme-capacity/reservations/{values[0]}"


def sandboxes(rng: random.Random, answers: Answers) -> None:
    """Run pods of GPU nodes in gVisor."""
    for node_pool in machines(answers):
        if node_pool["config"].get("accelerators") and rng.random() < 0.5:
            node_pool["config"]["sandboxConfig"] = {"type": "GVISOR"}


def flex_start(rng: random.Random, answers: Answers) -> None:
    """Start autoscaled nodes on demand as flex-start ones, all of a kind."""
    kinds: dict[object, list[Answers]] = {}
    for node_pool in machines(answers):
        kinds.setdefault(node_pool["config"]["labels"].get("use"), []).append(node_pool)
    for members in kinds.values():
        if rng.random() < 0.5 and all(_may_flex(each) for each in members):
            for each in members:
                each["config"] |= {"flexStart": True, "maxRunDuration": "86400s"}
                each["config"]["reservationAffinity"] = {"consumeReservationType": "NO_RESERVATION"}
                each |= {"initialNodeCount": 0, "upgradeSettings": {"strategy": "SHORT_LIVED"}}


def _may_flex(node_pool: Answers) -> bool:
    config, scaling = node_pool["config"], node_pool.get("autoscaling", {})
    least = scaling.get("minNodeCount") or scaling.get("totalMinNodeCount")
    return bool(scaling) and not (least or config["reservationAffinity"].get("values") or config.get("spot"))


def another_like_it(rng: random.Random, answers: Answers) -> None:
    """Add a copy of a node pool, as spot, with another disk, in another zone, or with nothing but another name."""
    free = [each for each in machines(answers) if not each["config"]["reservationAffinity"].get("values")]
    for node_pool in rng.sample(free, min(1, len(free))):
        copy = json.loads(json.dumps(node_pool))
        copy["name"] = f"{node_pool['name'][:30]}-copy"
        copy["selfLink"] = node_pool["selfLink"].removesuffix(node_pool["name"]) + copy["name"]
        way = rng.randint(0, 3)
        if way == 0:
            copy["config"] |= {"spot": True, "labels": {**copy["config"]["labels"], "use": "copy"}}
        elif way == 1:
            copy["config"]["diskSizeGb"] = 333
        elif way == 2:
            copy["locations"] = [f"{copy['locations'][0][:-1]}{rng.choice('abc')}"]
        answers["node-pools.json"].append(copy)


def fewer_answers(rng: random.Random, answers: Answers) -> None:
    """Leave out answers that people do not have: on reservations, on objects, on rights."""
    for name in rng.sample([each for each in answers if each not in ("cluster.json", "node-pools.json")], 3):
        if name != "placement-policies.json":
            answers[name] = [] if isinstance(answers[name], list) else {**answers[name], "items": []}


def one_slice_left(rng: random.Random, answers: Answers) -> None:
    """Remove all slices of each pool but the last one."""
    last = {each["name"].rpartition("-")[0]: each["name"] for each in slices(answers)}
    gone = {each["name"] for each in slices(answers)} - {*last.values()}
    answers["node-pools.json"] = [each for each in answers["node-pools.json"] if each["name"] not in gone]


RARE: Mapping[str, Variation] = {
    each.__name__: each
    for each in (
        *(odd_names, sub_blocks, other_project, sandboxes, flex_start, another_like_it, fewer_answers),
        one_slice_left,
    )
}


def vary_rarely(rng: random.Random, answers: Answers) -> list[str]:
    """Apply one to three of these, and return their names."""
    names = rng.sample(list(RARE), rng.randint(1, 3))
    for name in names:
        RARE[name](rng, answers)
    return names
