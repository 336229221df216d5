"""Moving in: what Google's and Kubernetes' APIs say of a cluster becomes a stack file and a file for `pulumi import`.

Pure: files in, plain values out. What the stack file cannot say is told, never left out in silence.
"""
