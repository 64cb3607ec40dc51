"""Self-signed certificates for the servers that the tests start."""

import hashlib
import ssl
import subprocess
from pathlib import Path


def make_certificate(folder: Path) -> str:
    """Write ``cert.pem`` and ``key.pem`` for 127.0.0.1; return the SHA-256 of the certificate."""
    command = [
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
        *("-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"),
        *("-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")),
    ]
    subprocess.run(command, check=True, capture_output=True)
    der = ssl.PEM_cert_to_DER_cert((folder / "cert.pem").read_text())
    return hashlib.sha256(der).hexdigest()
