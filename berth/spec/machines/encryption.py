"""Schema of encryption with keys of Cloud KMS that somebody else makes."""

from __future__ import annotations

from typing import Annotated, Literal

from berth.spec.base import Model, Text, validation_fault
from berth.spec.model import check_model

KmsKey = Annotated[
    str,
    Text(
        r"projects/[a-z0-9.:-]+/locations/[a-z0-9-]+/keyRings/[A-Za-z0-9_-]{1,63}/cryptoKeys/[A-Za-z0-9_-]{1,63}",
        "the name of a key of Cloud KMS such as projects/my-keys/locations/us-central1/keyRings/gke/cryptoKeys/nodes",
    ),
]


class DatabaseEncryptionSpec(Model):
    """How the Secrets of a cluster are encrypted in its database (etcd)."""

    state: Literal["ENCRYPTED", "DECRYPTED"] = "ENCRYPTED"
    """`ENCRYPTED` with the key, or `DECRYPTED`: with Google's own keys again, which removing the key would not do."""
    key_name: KmsKey | None = None
    """Key of Cloud KMS in the cluster's region, which GKE's service agent may use."""

    @check_model
    def _check_key(self) -> DatabaseEncryptionSpec:
        if self.state == "ENCRYPTED" and self.key_name is None:
            raise validation_fault("missing-key", "keyName is missing; write the key of Cloud KMS that encrypts")
        return self
