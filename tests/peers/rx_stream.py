"""The receive pipeline under cocotbext-axi: every port pauses at random.

    AxiStreamSource ─► s_axis ┐              ┌─► m_op   ─► sink ─┐
    source ─► s_token ────────┴─► groove_rx ─┴─► m_axis ─► sink ─┴─► deliveries == groove sim --out
"""

import os
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge, with_timeout
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource
from cocotbext.axi.stream import define_stream

from table import Table, with_tag
from traffic import deliveries, frames, pauses, rss_image

OpBus, _, _, OpSink, _ = define_stream("Op", signals=["meta", "header", "valid", "ready"])
TokenBus, Token, TokenSource, _, _ = define_stream(
    "Token", signals=["queue", "kind", "valid", "ready"]
)


class Bench:
    """Ports, clock and reset."""

    def __init__(self, dut, table, seed, percent):
        self.dut, self.table = dut, table
        cocotb.start_soon(Clock(dut.sys_clk, 4, unit="ns").start())
        clocked = (dut.sys_clk, dut.sys_rst)
        self.source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), *clocked)
        self.token = TokenSource(TokenBus.from_prefix(dut, "s_token"), *clocked)
        self.ops = OpSink(OpBus.from_prefix(dut, "m_op"), *clocked)
        self.payload = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), *clocked)
        ports = [self.source, self.token, self.ops, self.payload]
        for number, port in enumerate(ports):
            port.set_pause_generator(pauses(seed + number, percent))

    async def start(self, queues):
        dut = self.dut
        for port, value in [(dut.reg_write, 0), (dut.admit, 1), (dut.admit_answer, 1)]:
            port.value = value
        dut.sys_rst.value = 1
        await ClockCycles(dut.sys_clk, 10)
        dut.sys_rst.value = 0
        await RisingEdge(dut.sys_clk)
        dut.reg_write.value = 1
        for address, value in rss_image(self.table, queues):
            dut.reg_addr.value = address
            dut.reg_wdata.value = value
            await RisingEdge(dut.sys_clk)
        dut.reg_write.value = 0

    async def flush(self, queue):
        """A token between two frames: no earlier, no later."""
        await self.source.wait()
        self.token.send_nowait(Token(queue=queue, kind=self.table["TOKEN_KIND_FLUSH_ALL"]))
        await self.token.wait()

    async def drive(self, capture, batch, queues):
        for number, frame in enumerate(capture):
            await self.source.send(AxiStreamFrame(frame, tuser=0))
            if queues == 1 and (number + 1) % batch == 0:
                await self.flush(0)
        for queue in range(queues):
            await self.flush(queue)

    async def receive(self, flushes):
        """Deliveries, until so many flushes are through."""
        table, open_now, done, frame = self.table, {}, [], 0
        waiting = []  # in the order of the payload
        while flushes:
            op = await self.ops.recv()
            fields = table.record("OPERATION", int(op.meta))
            header = int(op.header).to_bytes(128, "little")[: fields["hdr_len"]]
            kind = table.coded("OP_KIND", fields["kind"])
            key = fields["queue"], fields["session"]
            if kind == "flushed":
                flushes -= 1
                continue
            if kind in ("alone", "open"):
                entry = {"frames": [], "payload": []}
                if kind == "open":
                    assert key not in open_now, f"{key} is open already"
                    open_now[key] = entry
            else:
                entry = open_now.pop(key) if kind == "close" else open_now[key]
            if kind != "close":
                entry["frames"].append(frame)
                frame += 1
                if fields["payload_len"]:
                    waiting.append((entry, fields["payload_len"]))
            if kind in ("alone", "close"):
                done.append((fields, header, entry))
        assert not open_now, "sessions are open behind their flush"
        for entry, length in waiting:
            payload = bytes((await self.payload.recv()).tdata)
            assert len(payload) == length, f"{len(payload)} bytes of payload, announced: {length}"
            entry["payload"].append(payload)
        return [
            (table.comment(fields, e["frames"]), with_tag(fields, header + b"".join(e["payload"])))
            for fields, header, e in done
        ]


async def count_waits(dut, counts):
    """Cycles in which a port holds the other side up."""
    ports = [("s_axis", dut.s_axis_tvalid, dut.s_axis_tready)]
    ports += [("m_op", dut.m_op_valid, dut.m_op_ready)]
    ports += [("m_axis", dut.m_axis_tvalid, dut.m_axis_tready)]
    while True:
        await FallingEdge(dut.sys_clk)
        counts["cycles"] += 1
        for name, valid, ready in ports:
            if valid.value and not ready.value:
                counts[name] += 1


@cocotb.test()
async def deliveries_are_the_models(dut):
    table = Table(os.environ["PEERS_TABLE"])
    queues, batch = table["QUEUES"], int(os.environ["PEERS_BATCH"])
    capture = frames(os.environ["PEERS_CAPTURE"], int(os.environ["PEERS_LIMIT"]))
    expected = deliveries(os.environ["PEERS_EXPECTED"])
    bench = Bench(dut, table, int(os.environ["PEERS_SEED"]), int(os.environ["PEERS_PAUSE"]))
    await bench.start(queues)
    counts = {"cycles": 0, "s_axis": 0, "m_op": 0, "m_axis": 0}
    cocotb.start_soon(count_waits(dut, counts))
    cocotb.start_soon(bench.drive(capture, batch, queues))
    flushes = queues + (len(capture) // batch if queues == 1 else 0)
    came = await with_timeout(bench.receive(flushes), 100, "ms")
    for number, (wanted, got) in enumerate(zip(expected, came)):
        assert wanted[0] == got[0], f"delivery {number}: {wanted[0]!r} became {got[0]!r}"
        assert wanted[1] == got[1], f"delivery {number} ({wanted[0]}): bytes differ"
    assert len(expected) == len(came), f"{len(came)} deliveries, expected: {len(expected)}"
    await ClockCycles(dut.sys_clk, 200)
    assert bench.ops.empty() and bench.payload.empty(), "more came than was announced"
    merged = sum(", gso_size" in comment for comment, _ in came)
    waits = ", ".join(f"{name} {counts[name]}" for name in ("s_axis", "m_op", "m_axis"))
    line = f"{len(capture)} frames, {len(came)} deliveries, {merged} of them merged"
    line += f", {counts['cycles']} cycles"
    Path(os.environ["PEERS_FIGURES"]).write_text(f"{line}; waits {waits}\n", encoding="utf-8")
