#!/usr/bin/env python3
"""Records the project's captures: real Linux TCP between two network namespaces.

    namespace A  a0 <==veth==> ra  relay  rb <==veth==> b0  namespace B
    Linux TCP                      loss, reordering, CE marks,       Linux TCP
                                   padding, VLAN tags; writes pcap

    record.py               records every scenario again
    record.py bulk_v4 ...   records these
    record.py --list        names them
    record.py --out DIR     writes there, not beside the script

Needs root (namespaces, packet sockets), iproute2, Python 3.9, and iperf3 for what it drives; no
module beside the standard library, no netem, no VLAN device. Everything runs inside three
namespaces that this script makes and removes; nothing leaves them. The relay's choices follow the
seed; the two kernels' timing does not, so a new recording is a new file of the same kind, not the
same bytes.
"""

import argparse
import array
import contextlib
import fcntl
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
FILE_BYTES_MAX = 1_000_000
SCENARIO_SECONDS_MAX = 60
READY_SECONDS_MAX = 10
MAC = {"a": "02:00:00:00:00:0a", "b": "02:00:00:00:00:0b"}
ADDRESS = {4: {"a": "192.0.2.1", "b": "192.0.2.2"}, 6: {"a": "2001:db8::1", "b": "2001:db8::2"}}
PREFIX = {4: 24, 6: 64}
PORT = 8080

# What the relay does ("loss", "reorder", "ce" are percentages of the data frames; "tags" outermost
# first; "record" is the side whose received frames are written, or "both" for a mirror of the link)
# and what the hosts do ("work"). "need" names relay counters that must not be zero at the end.
SCENARIOS = {
    "bulk_v4": {"work": "iperf", "streams": 1},
    "bulk_v6": {"work": "iperf", "streams": 4, "ip": 6, "nanoseconds": True},
    "bulk_v4_jumbo": {"work": "iperf", "streams": 2, "mtu": 9000},
    "bulk_v4_loss_reorder": {
        "work": "iperf", "streams": 4, "loss": 1.5, "reorder": 4, "need": ["lost", "reordered"],
    },
    "bulk_v6_loss_reorder": {
        "work": "iperf", "streams": 3, "ip": 6, "loss": 1, "reorder": 6,
        "need": ["lost", "reordered"],
    },
    "ce_marks_v4": {"work": "iperf", "streams": 2, "ce": 4, "need": ["marked"]},
    "ce_marks_v6": {
        "work": "iperf", "streams": 2, "ip": 6, "ce": 4, "loss": 0.5, "need": ["marked"],
        "limit": 250_000,
    },
    "http_v4_vlan": {"work": "http", "tags": [(0x8100, 0x6064)], "need": ["tagged"]},
    "http_v6": {"work": "http", "ip": 6, "record": "both", "limit": 350_000},
    "qinq_v4": {
        "work": "iperf", "streams": 8, "tags": [(0x88A8, 0x0007), (0x8100, 0x2065)], "reorder": 1,
        "need": ["tagged"],
    },
    "rr_v4": {
        "work": "rr", "record": "both", "pad": True, "timestamps": False,
        "need": ["padded"], "limit": 250_000,
    },
    "rr_v6": {"work": "rr", "ip": 6, "limit": 250_000, "nanoseconds": True},
    "short_flows_v4": {
        "work": "short", "record": "both", "pad": True, "timestamps": False, "loss": 0.5,
        "need": ["padded"], "limit": 450_000,
    },
    "short_flows_v6": {"work": "short", "ip": 6, "limit": 350_000},
}
DEFAULTS = {
    "ip": 4, "mtu": 1500, "loss": 0, "reorder": 0, "ce": 0, "tags": [], "pad": False,
    "timestamps": True, "record": "b", "nanoseconds": False, "need": [], "limit": 480_000,
}


class Failure(Exception):
    """A scenario that cannot be recorded; the text says what to do."""


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")


def inside(namespace, *command):
    return ["ip", "netns", "exec", namespace, *command]


def offloads_off(device):
    """Turns off every offload that would hide the wire's segments or leave checksums unfilled."""
    set_commands = {
        "rx csum": 0x15, "tx csum": 0x17, "sg": 0x19, "tso": 0x1F, "gso": 0x24, "gro": 0x2C,
    }
    siocethtool = 0x8946
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for name, number in set_commands.items():
            value = array.array("I", [number, 0])
            request = struct.pack("16sP16x", device.encode(), value.buffer_info()[0])
            try:
                fcntl.ioctl(control, siocethtool, request)
            except OSError as error:
                raise Failure(f"{device}: cannot turn off {name}: {error}") from error


def host_up(host, device, settings):
    """Addresses, MTU and offloads of one end; runs inside its namespace."""
    ip = settings["ip"]
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "set", device, "address", MAC[host], "mtu", str(settings["mtu"]))
    offloads_off(device)
    run("ip", "link", "set", device, "up")
    nodad = ["nodad"] if ip == 6 else []
    run("ip", "addr", "add", f"{ADDRESS[ip][host]}/{PREFIX[ip]}", "dev", device, *nodad)
    sysctl = pathlib.Path("/proc/sys/net/ipv4")
    (sysctl / "tcp_ecn").write_text("1")
    (sysctl / "tcp_timestamps").write_text(str(int(settings["timestamps"])))


@contextlib.contextmanager
def topology(settings):
    """Three namespaces and two veth pairs, removed whatever happens."""
    names = {role: f"groove-{os.getpid()}-{role}" for role in ("a", "relay", "b")}
    made = []
    try:
        for name in names.values():
            run("ip", "netns", "add", name)
            made.append(name)
        for host in ("a", "b"):
            link = ["ip", "-n", names["relay"], "link"]
            run(*link, "add", f"r{host}", "type", "veth", "peer", "name", f"{host}0",
                "netns", names[host])
            own = [sys.executable, str(HERE / "record.py"), "--host-up", host, json.dumps(settings)]
            run(*inside(names[host], *own))
            run(*link, "set", f"r{host}", "mtu", str(settings["mtu"]), "up")
        yield names
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "del", name], check=False)


@contextlib.contextmanager
def background(command, ready=None):
    """A child process; waits until it printed `ready`; stopped at the end."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    watchdog = time.monotonic() + READY_SECONDS_MAX
    try:
        while ready is not None:
            line = child.stdout.readline()
            if ready in line:
                break
            if not line or time.monotonic() > watchdog:
                raise Failure(f"{' '.join(command)}: not ready")
        yield child
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(timeout=READY_SECONDS_MAX)
        child.stdout.close()


def work(names, name, settings):
    """Runs the scenario's client in one namespace against its server in the other, to its end."""
    ip = settings["ip"]
    peers = [sys.executable, str(HERE / "peers.py")]
    if settings["work"] == "iperf":
        # A sends: the receiver B is where coalescing happens.
        server = inside(names["b"], "iperf3", "-s", "-1", "-p", str(PORT), "--forceflush")
        size = 4 * settings["limit"]  # the recorder stops by itself, the transfer some time later
        client = inside(names["a"], "iperf3", "-c", ADDRESS[ip]["b"], "-p", str(PORT),
                        "-n", str(size), "-l", "16K", "-P", str(settings["streams"]))
        ready = "Server listening"
    else:
        kind, port = settings["work"], str(PORT)
        server = inside(names["a"], *peers, f"{kind}-server", ADDRESS[ip]["a"], port)
        client = inside(names["b"], *peers, f"{kind}-client", ADDRESS[ip]["a"], port, name)
        ready = "listening"
    with background(server, ready):
        done = subprocess.run(client, stdout=subprocess.DEVNULL, timeout=SCENARIO_SECONDS_MAX,
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise Failure(f"{name}: client ended with {done.returncode}: {done.stderr.strip()}")


def record(name, seed, directory):
    settings = {**DEFAULTS, **SCENARIOS[name], "seed": f"{seed}/{name}"}
    target = directory / f"{name}.pcap"
    fresh = target.with_suffix(".pcap.new")
    with topology(settings) as names:
        relay = [sys.executable, str(HERE / "relay.py"), "ra", "rb", str(fresh)]
        relay.append(json.dumps(settings))
        with background(inside(names["relay"], *relay), "relaying") as child:
            work(names, name, settings)
            time.sleep(0.2)  # the last ACKs
            child.send_signal(signal.SIGTERM)
            report = json.loads(child.stdout.readline() or "{}")
    if report.get("error"):
        raise Failure(f"{name}: {report['error']}")
    for counter in ["recorded", *settings["need"]]:
        if not report.get(counter):
            raise Failure(f"{name}: nothing {counter}: run again, or with another --seed")
    if fresh.stat().st_size > FILE_BYTES_MAX:
        raise Failure(f"{name}: {fresh.stat().st_size} bytes; the limit is {FILE_BYTES_MAX}")
    fresh.replace(target)
    print(f"{target.name}: {target.stat().st_size} bytes,",
          ", ".join(f"{count} {what}" for what, count in report.items() if count))


def check_tools(names):
    if os.geteuid():
        raise Failure("namespaces and packet sockets need root: run with sudo")
    needed = {"ip": "iproute2"}
    if any(SCENARIOS[name]["work"] == "iperf" for name in names):
        needed["iperf3"] = "iperf3"
    missing = [package for tool, package in needed.items() if not shutil.which(tool)]
    if missing:
        raise Failure(f"missing tools: apt-get install {' '.join(missing)}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenario", nargs="*", help="default: all")
    parser.add_argument("--seed", type=int, default=1, help="of the relay's choices (default 1)")
    parser.add_argument("--out", type=pathlib.Path, default=HERE, help="directory to write to")
    parser.add_argument("--list", action="store_true", help="name the scenarios")
    parser.add_argument("--host-up", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.host_up:
        host, settings = options.host_up
        host_up(host, f"{host}0", json.loads(settings))
        return
    if options.list:
        print("\n".join(SCENARIOS))
        return
    unknown = [name for name in options.scenario if name not in SCENARIOS]
    if unknown:
        raise Failure(f"no scenario {', '.join(unknown)}; record.py --list names them")
    names = options.scenario or list(SCENARIOS)
    check_tools(names)
    for name in names:
        record(name, options.seed, options.out)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"error: {failure}")
