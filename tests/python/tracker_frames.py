"""Enough of the protocol (rpc/wire) for tests that are a client, or nobody in particular, of a tracker without a secret."""

import socket
import struct

HELLO, ERROR, REQUEST, GRANTED = 1, 2, 51, 52
CLIENT, TRACKER = 0, 2


def text(value):
    return struct.pack("<I", len(value)) + value.encode()


def frame(kind, payload):
    return struct.pack("<IHH", len(payload), kind, 0) + payload


def hello(role=CLIENT):
    return frame(HELLO, struct.pack("<IHHB", 0x52505754, 1, 1, role) + text("test") + struct.pack("<I", 0))


def exactly(connection, count):
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise ConnectionError("it was closed there")
        data += part
    return data


def receive(connection):
    size, kind, _ = struct.unpack("<IHH", exactly(connection, 8))
    return kind, exactly(connection, size)


def connect(port, timeout=10):
    """A connection on which both have said HELLO."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=timeout)
    connection.sendall(hello())
    kind, _ = receive(connection)
    assert kind == HELLO
    return connection


def request(port, key, wait_s=20, session_s=0):
    """A connection with a board at its other end."""
    connection = connect(port, wait_s + 5)
    limits = struct.pack("<iII", 0, int(wait_s * 1e3), int(session_s * 1e3))
    connection.sendall(frame(REQUEST, text(key) + text("") + limits + text("test")))
    kind, payload = receive(connection)
    if kind != GRANTED:
        raise ConnectionError(payload)
    return connection
