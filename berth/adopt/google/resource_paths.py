"""Forms in which Google's APIs name a resource: its name, a partial path, or a full URL."""

from __future__ import annotations


def last_segment(path: str) -> str:
    """Return the name in a path or URL: `projects/p/zones/z/acceleratorTypes/nvidia-l4` is `nvidia-l4`."""
    return path.rstrip("/").rpartition("/")[2]


def reservation_value(path: str, project: str) -> str:
    """Return a reservation as GKE's affinity names it: NAME, or projects/P/reservations/NAME of another project.

    Blocks and sub-blocks of it stay. `path` may be a full URL, and may have a zone, which the affinity has not.
    """
    if "projects/" not in path:
        return path
    segments = path.rpartition("projects/")[2].split("/")
    owner, parts = segments[0], dict(zip(segments[1::2], segments[2::2], strict=False))
    name = parts.pop("reservations", None)
    if name is None:
        return path
    below = "".join(f"/{key}/{parts[key]}" for key in ("reservationBlocks", "reservationSubBlocks") if key in parts)
    return f"{name}{below}" if owner == project else f"projects/{owner}/reservations/{name}{below}"
