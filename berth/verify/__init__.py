"""What Berth predicts of a cluster against what is there: nodes, flavors, queues, quota, drivers and classes."""

from berth.verify.answers import LiveObjects, read_live_objects
from berth.verify.findings import Learned, LiveDifference, Verification
from berth.verify.objects import verify_cluster

__all__ = ["Learned", "LiveDifference", "LiveObjects", "Verification", "read_live_objects", "verify_cluster"]
