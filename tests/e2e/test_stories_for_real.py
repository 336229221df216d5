"""Jobs on a real Kueue: the story, the prediction of `berth admit` and the result agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.support.cluster import Cluster, until
from tests.e2e.support.project import BERTH, output
from tests.e2e.support.stack import Project
from tests.e2e.support.stories import STORIES, Story


@pytest.mark.parametrize("file", STORIES, ids=lambda file: file.stem)
def test_berth_admit_predicts_each_story(file: Path, project: Project) -> None:
    story = Story(file, project, "nowhere")
    (project.folder / f"Pulumi.{story.part.stack}.yaml").write_text(story.files[0].text(), encoding="utf-8")
    story.jobs()
    for step, foretold in zip(story.told["steps"], story.foretold(), strict=True):
        assert {name: foretold[name].state for name in step["then"]} == step["then"]


@pytest.mark.parametrize("file", STORIES, ids=lambda file: file.stem)
def test_a_story_happens_as_simulated(file: Path, cluster: Cluster, project: Project) -> None:
    story = Story(file, project, cluster.context)
    before = cluster.objects()
    stack = project.stack(story.part.stack, story.files[0].text())
    stack.up()
    nodes = project.folder.parent / "nodes.yaml"
    nodes.write_text(output([*BERTH, "render", stack.name, "--nodes"], project.folder), encoding="utf-8")
    cluster.kubectl("create", "-f", str(nodes))
    story.jobs()
    try:
        for (each, places), step in zip(story.play(cluster, stack), story.told["steps"], strict=True):
            assert {name: places[name].state for name in step["then"]} == step["then"], each
            for name in (name for name, place in places.items() if place.state == "admitted"):
                _all_on_nodes(cluster, name)
            print(f"{file.stem}: {each}: {', '.join(f'{name} {place.state}' for name, place in places.items())}")
    finally:
        for manifests in story.manifests():
            cluster.kubectl("delete", "-f", str(manifests), "--ignore-not-found")
        cluster.kubectl("delete", "-f", str(nodes))
    stack.destroy()
    until("everything to be gone", lambda: sorted(cluster.objects() - before), lambda left: not left)


def _all_on_nodes(cluster: Cluster, job: str) -> None:
    """What is admitted finds its machines, too. Raises `Failed`."""

    def homeless() -> list[str] | None:
        result = cluster.pods_of(job)
        return [pod["metadata"]["name"] for pod in result if "nodeName" not in pod["spec"]] if result else None

    until(f"all pods of {job} to have nodes", homeless, lambda left: left == [])
