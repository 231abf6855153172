"""The whole NIC under cocotbext-axi: register file, then captures through rings in an AxiRam.

    AxiStreamSource ─► s_axis ─► groove_nic ─► axi_* ─► AxiRam ─┐
      AxiLiteMaster ─► axil_* ───────┘  └─────► msix ───────────┴─► driver == groove sim --out

The driver here is written from docs/{nic,rings,registers}.md and `groove.h` alone.
"""

import os
import re
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Event, RisingEdge, with_timeout
from cocotbext.axi import (
    AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam, AxiResp, AxiStreamBus, AxiStreamFrame,
    AxiStreamSource,
)

from table import Table, with_tag
from traffic import deliveries, frames, pauses, rss_image

POOL, BUFFER_BYTES, SLOT_BYTES = 256, 2048, 256
# Of each queue, one behind the other in memory.
FREE, COMPLETIONS, SLOTS, BUFFERS, QUEUE_BYTES = 0, 0x1000, 0x10000, 0x20000, 0x100000
# Frames between the wire and the driver.
WINDOW = 32


class Bench:
    """Ports, clock, reset and registers."""

    def __init__(self, dut, seed, percent):
        self.dut, self.table = dut, Table(os.environ["PEERS_TABLE"])
        self.queues = self.table["QUEUES"]
        cocotb.start_soon(Clock(dut.sys_clk, 4, unit="ns").start())
        clocked = (dut.sys_clk, dut.sys_rst)
        self.source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), *clocked)
        self.lite = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "axil"), *clocked)
        self.ram = AxiRam(AxiBus.from_prefix(dut, "axi"), *clocked, size=self.queues * QUEUE_BYTES)
        ports = [self.source]
        for side in (self.lite, self.ram):
            ports += [side.write_if.aw_channel, side.write_if.w_channel, side.write_if.b_channel]
            ports += [side.read_if.ar_channel, side.read_if.r_channel]
        for number, port in enumerate(ports):
            port.set_pause_generator(pauses(seed + number, percent))
        self.woken = [Event() for _ in range(self.queues)]
        self.messages = 0

    async def start(self):
        dut = self.dut
        dut.flr.value, dut.s_token_valid.value, dut.msix_ready.value = 0, 0, 1
        dut.s_token_queue.value, dut.s_token_kind.value = 0, 0
        dut.sys_rst.value = 1
        await ClockCycles(dut.sys_clk, 10)
        dut.sys_rst.value = 0
        cocotb.start_soon(self.take_messages())

    async def take_messages(self):
        while True:
            await RisingEdge(self.dut.sys_clk)
            if self.dut.msix_valid.value:
                self.messages += 1
                self.woken[int(self.dut.msix_vector.value)].set()

    async def write(self, address, value):
        answer = await self.lite.write(address, value.to_bytes(4, "little"))
        assert answer.resp == AxiResp.OKAY, f"write of {address:#x}: {answer.resp!r}"

    async def read(self, address):
        answer = await self.lite.read(address, 4)
        assert answer.resp == AxiResp.OKAY, f"read of {address:#x}: {answer.resp!r}"
        return int.from_bytes(answer.data, "little")

    def queue_register(self, queue, name):
        table = self.table
        return table["QUEUES_BASE"] + queue * table["QUEUE_STRIDE"] + table[f"REG_{name}"]


@cocotb.test()
async def registers_answer(dut):
    """Identity, reset values, write and read back, errors that change nothing."""
    bench = Bench(dut, int(os.environ["PEERS_SEED"]), int(os.environ["PEERS_PAUSE"]))
    table, accesses = bench.table, 0
    await bench.start()
    assert await bench.read(table["REG_SPEC_ID"]) == table["SPEC_ID"]
    capabilities = await bench.read(table["REG_CAPABILITIES"])
    assert capabilities & 0x3F == bench.queues
    assert capabilities >> 8 & 0xFF == table["WIDTH_BITS"] // 8
    assert await bench.read(table["REG_CONTROL"]) == table["REG_CONTROL_RESET"]
    # Out of order on purpose, and then read in order: no write hits its neighbour.
    image = sorted(rss_image(table, bench.queues), key=lambda entry: entry[0] * 7919 % 1009)
    for address, value in image:
        await bench.write(address, value)
    for address, value in sorted(image):
        assert await bench.read(address) == value, f"{address:#x}"
    accesses += 3 + 2 * len(image)
    for queue in range(bench.queues):
        for number, name in enumerate(["FREE_BASE_LOW", "COMPLETION_BASE_LOW", "HEADER_BASE_LOW"]):
            await bench.write(bench.queue_register(queue, name), 0x1000 * (8 * queue + number + 1))
    for queue in range(bench.queues):
        for number, name in enumerate(["FREE_BASE_LOW", "COMPLETION_BASE_LOW", "HEADER_BASE_LOW"]):
            value = await bench.read(bench.queue_register(queue, name))
            assert value == 0x1000 * (8 * queue + number + 1), f"{name} of queue {queue}"
    # A queue that was not built, a read-only register: answered, and nothing changes.
    assert await bench.read(bench.queue_register(bench.queues, "FREE_BASE_LOW")) == 0
    await bench.write(table["REG_SPEC_ID"], 0xFFFFFFFF)
    assert await bench.read(table["REG_SPEC_ID"]) == table["SPEC_ID"]
    accesses += 6 * bench.queues + 3
    # A part of a word, and addresses between two words.
    for offset, length in [(0, 2), (0, 1), (1, 3), (2, 2), (3, 1)]:
        address = table["REG_MAX_FRAME"] + offset
        answer = await bench.lite.write(address, bytes(length))
        assert answer.resp == AxiResp.SLVERR, f"{length} bytes to {address:#x}: {answer.resp!r}"
    for offset in (1, 2, 3):
        answer = await bench.lite.read(table["REG_MAX_FRAME"] + offset, 1)
        assert answer.resp == AxiResp.SLVERR, f"read at offset {offset}: {answer.resp!r}"
    assert await bench.read(table["REG_MAX_FRAME"]) == table["REG_MAX_FRAME_RESET"]
    note("registers", f"{accesses + 9} accesses")


def note(name, figures):
    """A line for the report of run.py."""
    with Path(os.environ["PEERS_FIGURES"]).open("a", encoding="utf-8") as file:
        file.write(f"{name}: {figures}\n")


class Driver:
    """Rings of one queue, as docs/rings.md has them."""

    def __init__(self, bench, queue):
        self.bench, self.queue, self.base = bench, queue, queue * QUEUE_BYTES
        self.posted = self.taken = 0
        self.parts, self.came, self.frames = [], [], 0

    def address(self, part):
        return self.base + part

    async def write(self, name, value):
        await self.bench.write(self.bench.queue_register(self.queue, name), value)

    async def read(self, name):
        return await self.bench.read(self.bench.queue_register(self.queue, name))

    async def enable(self):
        log2 = POOL.bit_length() - 1
        await self.write("FREE_BASE_LOW", self.address(FREE))
        await self.write("COMPLETION_BASE_LOW", self.address(COMPLETIONS))
        await self.write("HEADER_BASE_LOW", self.address(SLOTS))
        await self.write("RING_SIZES", log2 | log2 << 8)
        await self.write("BUFFER_SIZE", BUFFER_BYTES)
        # One completion signals, and no timer ends a session: the model has no clock.
        await self.write("MODERATION", 1)
        await self.write("HOLD", 0)
        await self.write("QUEUE_CONTROL", 0b111)
        for number in range(POOL):
            self.post(number)
        await self.write("FREE_PRODUCER", self.posted & 0xFFFF)
        # A frame that finds no descriptor in the device is dropped.
        while await self.read("FREE_CONSUMER") < 64:
            await ClockCycles(self.bench.dut.sys_clk, 50)

    def post(self, number):
        address = self.address(BUFFERS) + number * BUFFER_BYTES
        descriptor = address | BUFFER_BYTES << 64 | number << 96
        at = self.address(FREE) + 16 * (self.posted % POOL)
        self.bench.ram.write(at, descriptor.to_bytes(16, "little"))
        self.posted += 1

    def poll(self):
        """Takes what is new; gives how many buffers came home."""
        home = 0
        while True:
            at = self.address(COMPLETIONS) + 32 * (self.taken % POOL)
            record = int.from_bytes(self.bench.ram.read(at, 32), "little")
            if record >> 255 != (self.taken // POOL + 1) % 2:
                return home
            self.taken += 1
            home += 1
            self.take(self.bench.table.record("COMPLETION", record))

    def take(self, part):
        assert not part["error"] and part["reserved"] == 0, part
        self.parts.append(part)
        number = part["buf_id"]
        part["bytes"] = self.bench.ram.read(
            self.address(BUFFERS) + number * BUFFER_BYTES, part["length"]
        )
        if part["last"]:
            self.deliver(self.parts)
            self.parts = []
        self.post(number)

    def deliver(self, parts):
        head = parts[0]
        assert [part["first"] for part in parts] == [1] + [0] * (len(parts) - 1)
        assert all(part["length"] == BUFFER_BYTES for part in parts[:-1])
        if head["total_len"] == 0:
            return  # a buffer that comes back unused
        slot = self.address(SLOTS) + head["buf_id"] * SLOT_BYTES
        frame = self.bench.ram.read(slot, head["hdr_len"])
        frame += b"".join(part["bytes"] for part in parts)
        assert len(frame) == head["total_len"], head
        self.frames += max(head["gso_segs"], 1)
        fields = head | {"queue": self.queue}
        self.came.append((self.bench.table.comment(fields, None), with_tag(fields, frame)))

    async def run(self):
        """Until the queue is told to stop, and has stopped."""
        while True:
            home = self.poll()
            if home:
                await self.write("FREE_PRODUCER", self.posted & 0xFFFF)
                continue
            # Armed first, then looked at once more: whoever sleeps is woken.
            self.bench.woken[self.queue].clear()
            await self.write("COMPLETION_CONSUMER", self.taken & 0xFFFF)
            await self.bench.woken[self.queue].wait()

    async def stop(self):
        await self.write("QUEUE_CONTROL", 0b110)
        while await self.read("QUEUE_STATUS"):
            await ClockCycles(self.bench.dut.sys_clk, 200)
        self.poll()


def expected_of(queue):
    """What the model delivers to a queue, without the numbers of frames."""
    numbers = re.compile(r", (frame \d+|\d+ frames \d+\.\.\d+)")
    of_all = deliveries(os.environ["PEERS_EXPECTED"])
    of_all = [(numbers.sub("", comment), frame) for comment, frame in of_all]
    return [entry for entry in of_all if entry[0].startswith(f"queue {queue},")]


@cocotb.test()
async def captures_come_through_rings(dut):
    """Every delivery of every queue is the model's, woken by MSI-X, buffers going round."""
    bench = Bench(dut, int(os.environ["PEERS_SEED"]), int(os.environ["PEERS_PAUSE"]))
    table = bench.table
    await bench.start()
    for address, value in rss_image(table, bench.queues):
        await bench.write(address, value)
    drivers = [Driver(bench, queue) for queue in range(bench.queues)]
    for driver in drivers:
        await driver.enable()
    running = [cocotb.start_soon(driver.run()) for driver in drivers]
    capture = frames(os.environ["PEERS_CAPTURE"], int(os.environ["PEERS_LIMIT"]))
    for number, frame in enumerate(capture):
        # The device has 64 descriptors in hand, and a frame that finds none is dropped: the wire
        # waits for what is on its way. What is held for more to come is not: that takes longer.
        for _ in range(20):
            if number - sum(driver.frames for driver in drivers) < WINDOW:
                break
            await ClockCycles(dut.sys_clk, 50)
        await bench.source.send(AxiStreamFrame(frame, tuser=0))
        while bench.source.count() > 4:
            await ClockCycles(dut.sys_clk, 10)
    await with_timeout(bench.source.wait(), 10, "ms")
    while await bench.read(table["REG_FRAMES"]) != len(capture):
        await ClockCycles(dut.sys_clk, 50)
    for task in running:
        task.cancel()
    for driver in drivers:
        await with_timeout(driver.stop(), 10, "ms")
        assert await driver.read("QUEUE_NO_BUFFER") == 0, "a frame found no buffer"
        assert driver.posted - driver.taken == POOL, "buffers are not conserved"
        wanted = expected_of(driver.queue)
        for number, (expected, came) in enumerate(zip(wanted, driver.came)):
            text = f"delivery {number} of queue {driver.queue}"
            assert expected[0] == came[0], f"{text}: {expected[0]!r} became {came[0]!r}"
            assert expected[1] == came[1], f"{text}, {expected[0]}: bytes differ"
        assert len(wanted) == len(driver.came), f"queue {driver.queue}"
    assert any(driver.taken > POOL for driver in drivers), "no ring went round"
    assert bench.messages >= bench.queues
    came = sum(len(driver.came) for driver in drivers)
    merged = sum(", gso_size" in comment for driver in drivers for comment, _ in driver.came)
    buffers = sum(driver.taken for driver in drivers)
    cycles = cocotb.utils.get_sim_time("ns") // 4
    note(
        "rings",
        f"{len(capture)} frames, {came} deliveries, {merged} of them merged, {buffers} buffers, "
        f"{bench.messages} messages, cycle {cycles:.0f}",
    )
