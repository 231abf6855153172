"""The link of record.py: forwards frames between two devices, impairs them by seed, writes a pcap.

    device A ──► impair ──► tag ──► recorded here ──► untag ──► device B      (and the other way)

The recording point is the middle of a trunk: tags are put on before it and taken off behind it,
as two switches do, so that neither end needs a VLAN device. Impairments of TCP data frames: lost,
or held until 1 to 6 later frames of the direction have passed (or 2 ms), or, where the sender
offers ECN, marked CE with the IPv4 header checksum renewed. `pad`: every frame is filled up to 60
bytes, as an Ethernet transmitter does.
"""

import collections
import json
import random
import select
import signal
import socket
import struct
import sys
import time

ETH_P_ALL = 3
SOL_PACKET, PACKET_IGNORE_OUTGOING = 263, 23
SO_RCVBUFFORCE = 33
MAC_BYTES, FRAME_BYTES_MIN = 14, 60
HELD_FRAMES_MAX, HELD_SECONDS_MAX = 6, 0.002
LINK_TYPE_ETHERNET, SNAP_BYTES = 1, 65535


class Capture:
    """A pcap file that stops taking frames at `limit` bytes."""

    def __init__(self, path, nanoseconds, limit):
        self.file = open(path, "wb")
        self.unit_ns, magic = (1, 0xA1B23C4D) if nanoseconds else (1000, 0xA1B2C3D4)
        self.left = limit
        self.file.write(struct.pack("<IHHiIII", magic, 2, 4, 0, 0, SNAP_BYTES, LINK_TYPE_ETHERNET))

    def write(self, frame):
        self.left -= len(frame) + 16
        if self.left < 0:
            return False
        seconds, ns = divmod(time.time_ns(), 1_000_000_000)
        self.file.write(struct.pack("<IIII", seconds, ns // self.unit_ns, len(frame), len(frame)))
        self.file.write(frame)
        return True


def is_tcp_data(frame):
    """TCP over plain IPv4 or IPv6 with at least one payload byte."""
    kind = frame[12:14]
    if kind == b"\x08\x00" and frame[23] == 6:
        tcp, end = MAC_BYTES + 4 * (frame[14] & 15), MAC_BYTES + int.from_bytes(frame[16:18], "big")
    elif kind == b"\x86\xdd" and frame[20] == 6:
        tcp, end = MAC_BYTES + 40, MAC_BYTES + 40 + int.from_bytes(frame[18:20], "big")
    else:
        return False
    return end > tcp + 4 * (frame[tcp + 12] >> 4)


def mark_ce(frame):
    """The frame with CE set, or None where the sender did not offer ECN."""
    frame = bytearray(frame)
    if frame[12:14] == b"\x08\x00":
        if frame[15] & 3 not in (1, 2):
            return None
        frame[15] |= 3
        frame[24:26] = b"\0\0"
        header = frame[14 : 14 + 4 * (frame[14] & 15)]
        total = sum(struct.unpack(f"!{len(header) // 2}H", header))
        while total >> 16:
            total = (total & 0xFFFF) + (total >> 16)
        frame[24:26] = (~total & 0xFFFF).to_bytes(2, "big")
        return bytes(frame)
    if frame[12:14] == b"\x86\xdd":
        if frame[15] >> 4 & 3 not in (1, 2):
            return None
        frame[15] |= 0x30
        return bytes(frame)
    return None


class Direction:
    """Frames from one device to the other."""

    def __init__(self, source, sink, settings, recorded, capture, counters):
        self.source, self.sink = source, sink
        self.settings, self.capture, self.counters = settings, capture, counters
        self.recorded = recorded
        self.random = random.Random(f"{settings['seed']}/{source.getsockname()[0]}")
        self.held = []  # [frames still to pass, release time, frame]
        self.tags = b"".join(struct.pack("!HH", *tag) for tag in settings["tags"])

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def take(self, frame):
        if len(frame) > self.settings["mtu"] + MAC_BYTES:
            raise ValueError(f"a frame of {len(frame)} bytes: a transmit offload is still on")
        if is_tcp_data(frame):
            lost, held, marked = (self.chance(self.settings[k]) for k in ("loss", "reorder", "ce"))
            if lost:
                self.counters["lost"] += 1
                return
            ce = mark_ce(frame) if marked else None
            if ce:
                self.counters["marked"] += 1
                frame = ce
            if held:
                self.counters["reordered"] += 1
                passing = self.random.randint(1, HELD_FRAMES_MAX)
                self.held.append([passing, time.monotonic() + HELD_SECONDS_MAX, frame])
                return
        self.send(frame)
        for entry in self.held:
            entry[0] -= 1
        self.release(lambda entry: entry[0] <= 0)

    def expire(self):
        now = time.monotonic()
        self.release(lambda entry: entry[1] <= now)

    def release(self, due):
        ready = [entry for entry in self.held if due(entry)]
        self.held = [entry for entry in self.held if not due(entry)]
        for entry in ready:
            self.send(entry[2])

    def send(self, frame):
        if self.settings["pad"] and len(frame) < FRAME_BYTES_MIN:
            frame = frame.ljust(FRAME_BYTES_MIN, b"\0")
            self.counters["padded"] += 1
        wire = frame
        if self.tags:
            wire = frame[:12] + self.tags + frame[12:]
            self.counters["tagged"] += 1
        if self.recorded and self.capture.write(wire):
            self.counters["recorded"] += 1
        self.counters["forwarded"] += 1
        self.sink.send(frame)


def open_device(name):
    device = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    device.bind((name, 0))
    device.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    device.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    device.setblocking(False)
    return device


def relay(directions, stopping):
    by_socket = {direction.source: direction for direction in directions}
    while not stopping:
        held = any(direction.held for direction in directions)
        for source in select.select(list(by_socket), [], [], 0.001 if held else 0.1)[0]:
            by_socket[source].take(source.recv(SNAP_BYTES))
        for direction in directions:
            direction.expire()


def main():
    name_a, name_b, path, settings = sys.argv[1:]
    settings = json.loads(settings)
    a, b = open_device(name_a), open_device(name_b)
    capture = Capture(path, settings["nanoseconds"], settings["limit"])
    counters = collections.Counter()
    record = settings["record"]
    directions = [
        Direction(a, b, settings, record in ("b", "both"), capture, counters),
        Direction(b, a, settings, record in ("a", "both"), capture, counters),
    ]
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    print("relaying", flush=True)
    try:
        relay(directions, stopping)
    except (OSError, ValueError) as error:
        counters["error"] = str(error)
    capture.file.close()
    print(json.dumps(counters), flush=True)


if __name__ == "__main__":
    main()
