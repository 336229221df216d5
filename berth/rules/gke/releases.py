"""Rules on the age of a GKE version: minors past their end of support, minors of no table, and exact patches.

The dates are data (`releases.yaml`). They are compared with the day of `berth.clock`.
"""

from __future__ import annotations

from berth.catalog import end_of_support, fact_tables, gke_minor, parse_version, releases
from berth.rules.gke.pool_request import GkeViolation, gke_warning


def release_violation(version: str, channel: str, *, exists: bool = False) -> GkeViolation | None:
    """Return a warning for a version with which GKE may refuse to create a cluster, or that no table has; else None.

    `exists`: the version is that of a cluster that exists, which has an exact patch.
    """
    choice = f'write "{releases().newest}", or remove version to use the channel default'
    if exists:
        choice = "compare it with `gcloud container clusters describe`, and write the version that the cluster has"
    if not releases().is_known(version):
        table = fact_tables()["gke-releases"]
        unknown = table.unknown(f"'{version}'", "whether GKE has it, its features and its support are")
        named = list(releases().without_dates)[-1]
        if parse_version(version) > parse_version(named) and not exists:
            choice = "compare it with `gcloud container get-server-config`, or remove version"
        remedy = f"the newest minor in it is {named}: {choice}"
        return gke_warning("version-unknown", "version", f"{unknown}; {remedy}")
    if ended := end_of_support(version, channel):
        remedy = f"upgrade the cluster to {releases().newest}" if exists else choice
        if channel != "extended" and end_of_support(version, "extended") is None:
            remedy = f"{remedy}; or write releaseChannel: extended, which still supports this version"
        support = "extended support" if channel == "extended" else "standard support"
        return gke_warning(
            "version-unsupported", "version", f"GKE's {support} of '{version}' ended on or before {ended}; {remedy}"
        )
    if len(parse_version(version)) == _EXACT and not exists:
        message = f"'{version}' is one exact patch, which GKE offers for some weeks and then refuses for new clusters"
        return gke_warning(
            "version-exact", "version", f'{message}; write "{gke_minor(version)}", which means its newest patch'
        )
    return None


_EXACT = 4
"""Parts of a version that names a patch and a GKE build, such as 1.34.1-gke.1829001."""
