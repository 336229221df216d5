"""Adopt an existing cluster: answers of Google's and Kubernetes' APIs become a stack file and import files.

Pure: files in, plain values out. What the stack file cannot express is reported, never dropped silently.
"""
