"""What a change of versions does to a stack and its jobs: required actions, what turns, what breaks, in which order.

Pure: two plans of one stack, of which the second has the new versions, and the objects of manifests. The facts are rows
of `berth/versions`.
"""

from berth.upgrade.evidence import Evidence, JobObject
from berth.upgrade.findings import Upgrade, UpgradeAction, upgrade_of
from berth.upgrade.moves import Move, moves_between

__all__ = ["Evidence", "JobObject", "Move", "Upgrade", "UpgradeAction", "moves_between", "upgrade_of"]
