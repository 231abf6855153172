"""What goes in, what must come out, and when ports pause."""

import random

from scapy.utils import RawPcapNgReader, RawPcapReader

# Written to the hardware as `groove sim` does: Microsoft's key, the table spread over the queues.
KEY = bytes.fromhex(
    "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa"
)


def frames(path, limit):
    """Frames of a capture."""
    with RawPcapReader(str(path)) as reader:
        return [bytes(record[0]) for _, record in zip(range(limit), reader)]


def deliveries(path):
    """(comment, bytes) of each delivery that `groove sim --out` wrote."""
    with RawPcapNgReader(str(path)) as reader:
        return [(record[1].comments[0].decode(), bytes(record[0])) for record in reader]


def pauses(seed, percent):
    """Random pauses: single cycles, and at times long ones."""
    rng = random.Random(seed)
    while True:
        length = rng.choice([1, 1, 1, 2, 5, 40])
        paused = rng.randrange(100) < percent
        yield from [paused] * (length if rng.randrange(4) == 0 else 1)


def rss_image(table, queues):
    """Address and value of the registers that hash and steer."""
    for word in range(10):
        value = int.from_bytes(KEY[4 * word : 4 * word + 4], "little")
        yield table["REG_RSS_KEY"] + 4 * word, value
    for entry in range(128):
        yield table["REG_RSS_INDIRECTION"] + 4 * entry, entry % queues
