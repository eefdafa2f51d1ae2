"""The tests cannot reach anything but this machine, and do not see its hub settings."""

from __future__ import annotations

import os
import socket

import pytest


def test_no_name_but_localhost_is_looked_up() -> None:
    with pytest.raises(OSError, match="tests may only use loopback, not 'hub.example'"):
        socket.getaddrinfo("hub.example", 443)


def test_no_address_but_loopback_is_connected_to() -> None:
    with socket.socket() as client, pytest.raises(OSError, match="tests may only use loopback, not '0.0.0.0'"):
        client.connect(("0.0.0.0", 9))


def test_loopback_servers_can_be_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()


def test_the_hub_of_the_machine_is_out_of_reach() -> None:
    assert os.environ["HF_ENDPOINT"].startswith("http://127.0.0.1:")
    assert "HF_TOKEN" not in os.environ
