"""Hosts of record.py: small servers and clients over the kernel's own TCP.

    http    four connections at once, each a dozen GETs of 100 B to 40 kB
    rr      sixteen connections, one small request and its response at a time
    short   many connections of one request and one response each, twelve at a time

What is asked for follows the scenario's name, so it is the same in every recording.
"""

import concurrent.futures
import http.client
import http.server
import ipaddress
import random
import socket
import socketserver
import sys

TIMEOUT_SECONDS = 20
REQUEST_BYTES = 8


def body(length):
    """Bytes that differ along the body, so that a payload in the wrong place is seen."""
    return bytes((i * 7 + (i >> 8)) & 0xFF for i in range(length))


def family(address):
    return socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET


class Http(http.server.BaseHTTPRequestHandler):
    """GET /N answers N bytes."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        content = body(int(self.path.strip("/")))
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class Answer(socketserver.StreamRequestHandler):
    """Each request is a decimal length, filled up to 8 bytes; the response has that many bytes."""

    def handle(self):
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while request := self.rfile.read(REQUEST_BYTES):
            self.wfile.write(body(int(request)))


def serve(address, port, handler):
    class Server(socketserver.ThreadingTCPServer):
        address_family = family(address)
        allow_reuse_address = True
        daemon_threads = True
        request_queue_size = 64

    with Server((address, port), handler) as server:
        print("listening", flush=True)
        server.serve_forever()


def in_parallel(workers, jobs, job):
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(job, *arguments) for arguments in jobs]:
            done.result()


def http_gets(address, port, lengths):
    connection = http.client.HTTPConnection(address, port, timeout=TIMEOUT_SECONDS)
    for length in lengths:
        connection.request("GET", f"/{length}")
        if connection.getresponse().read() != body(length):
            raise ValueError(f"GET /{length}: other bytes came back")
    connection.close()


def exchanges(address, port, lengths):
    with socket.create_connection((address, port), TIMEOUT_SECONDS) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream = connection.makefile("rb")
        for length in lengths:
            connection.sendall(str(length).encode().ljust(REQUEST_BYTES))
            if stream.read(length) != body(length):
                raise ValueError(f"a request of {length} bytes: other bytes came back")


def main():
    role, address, port, *name = sys.argv[1:]
    port = int(port)
    choose = random.Random(name[0] if name else "")
    if role == "http-server":
        serve(address, port, Http)
    elif role in ("rr-server", "short-server"):
        serve(address, port, Answer)
    elif role == "http-client":
        lengths = (100, 1000, 5000, 20000, 40000)
        jobs = [[choose.choice(lengths) for _ in range(12)] for _ in range(4)]
        in_parallel(4, [(address, port, job) for job in jobs], http_gets)
    elif role == "rr-client":
        jobs = [[choose.choice((1, 3, 60, 250, 600)) for _ in range(40)] for _ in range(16)]
        in_parallel(16, [(address, port, job) for job in jobs], exchanges)
    elif role == "short-client":
        jobs = [[choose.choice((1, 200, 1500, 4000))] for _ in range(160)]
        in_parallel(12, [(address, port, job) for job in jobs], exchanges)
    else:
        sys.exit(f"error: no role {role}")


if __name__ == "__main__":
    main()
