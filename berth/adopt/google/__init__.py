"""What Google Cloud has besides the cluster and its machines: rights, monitoring, requests for capacity."""
