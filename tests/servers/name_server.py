"""A name server on loopback, which may answer otherwise each time it is asked, as one for rebinding does."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import dns.asyncresolver
import dns.exception
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset


class NameServer(asyncio.DatagramProtocol):
    """Knows names, each with a list of answers: one for each look-up, the last for all that follow."""

    def __init__(self) -> None:
        self.names: dict[str, list[Sequence[str]]] = {}
        self.asked: list[str] = []
        self.port = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        query = dns.message.from_wire(data)
        question = query.question[0]
        name = question.name.to_text(omit_final_dot=True)
        answer = dns.message.make_response(query)
        if name not in self.names:
            answer.set_rcode(dns.rcode.NXDOMAIN)
        else:
            six = question.rdtype == dns.rdatatype.AAAA
            found = [text for text in self.names[name][0] if (":" in text) is six]
            if found:
                answer.answer.append(dns.rrset.from_text(question.name, 0, "IN", question.rdtype, *found))
        self._transport.sendto(answer.to_wire(), addr)  # pyright: ignore

    async def resolve(self, host: str) -> Sequence[str]:
        """Look a name up as a program would: over the network, A and AAAA."""
        self.asked.append(host)
        resolver = dns.asyncresolver.Resolver(configure=False)
        resolver.nameservers, resolver.port, resolver.lifetime = ["127.0.0.1"], self.port, 5
        try:
            found = await resolver.resolve_name(host)
        except dns.exception.DNSException as error:
            raise OSError(str(error)) from error
        if len(self.names[host]) > 1:
            self.names[host].pop(0)
        return list(found.addresses())


@asynccontextmanager
async def name_server() -> AsyncIterator[NameServer]:
    """Run one on a port of its own."""
    transport, server = await asyncio.get_running_loop().create_datagram_endpoint(
        NameServer, local_addr=("127.0.0.1", 0)
    )
    server.port = transport.get_extra_info("sockname")[1]
    try:
        yield server
    finally:
        transport.close()
