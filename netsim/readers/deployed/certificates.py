"""Certificates of one run: an authority that lives as long as it does, and one certificate for each agent."""

import ssl
import tempfile
from dataclasses import dataclass

from netsim.errors import UnsupportedError, install
from netsim.readers.deployed.ends import name_of


@dataclass(frozen=True)
class Certificate:
    """An agent's certificate with its key, PRIVATE, and the authority that both ends trust, each as PEM."""

    own: bytes
    authority: bytes

    def server(self) -> ssl.SSLContext:
        """For those who dial: they have to show a certificate of this run too."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.verify_mode = ssl.CERT_REQUIRED
        return self._filled(context)

    def client(self) -> ssl.SSLContext:
        """For dialing: whoever answers has to show the certificate of that agent."""
        return self._filled(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))

    def _filled(self, context: ssl.SSLContext) -> ssl.SSLContext:
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_verify_locations(cadata=self.authority.decode())
        with tempfile.NamedTemporaryFile(suffix=".pem") as file:  # the module reads chains from files alone
            file.write(self.own)
            file.flush()
            context.load_cert_chain(file.name)
        return context


def certificates(agents: int) -> list[Certificate]:
    """One for each agent, of an authority that nobody has after this. You get an `UnsupportedError` where the
    library is missing."""
    try:
        import trustme
    except ModuleNotFoundError:
        raise UnsupportedError(f"TLS between agents needs trustme: {install('deploy')}") from None
    authority = trustme.CA()
    found: list[Certificate] = []
    for agent in range(agents):
        one = authority.issue_cert(name_of(agent))
        chain = b"".join(blob.bytes() for blob in one.cert_chain_pems)
        found.append(Certificate(one.private_key_pem.bytes() + chain, authority.cert_pem.bytes()))
    return found
