#!/usr/bin/env python3
"""Runs cocotbext-axi against the emitted Verilog. `setup/peers` calls it, in its environment.

    groove emit ─► Verilog, groove.h ─► Verilator, cocotb ─┐
    groove sim --engine model --out ─► what must come ─────┴─► rx_stream.py, nic.py ─► figures

    run.py --groove FILE --work DIR [--seed N] [--pause PERCENT] [RUN...]      without: all runs
    run.py --list                                                             names them

A run whose expectation is wrong on purpose comes first, and has to fail. Exit code 4: one differs.
"""

import argparse
import contextlib
import multiprocessing
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
CAPTURES = HERE.parent / "captures"
NO_BATCH = 1_000_000

# Name: what is built (top, bits, queues), capture, most frames, frames of a poll. With one queue
# the polls of `groove sim` can be played without knowing the hash: a token behind every batch.
RUNS = {
    "wrong": (("rx", 64, 1), "bulk_v4", 100, 16),
    "bulk-v4": (("rx", 64, 1), "bulk_v4", 400, 64),
    "lossy-v6": (("rx", 64, 1), "bulk_v6_loss_reorder", 400, 16),
    "vlan": (("rx", 64, 1), "http_v4_vlan", 400, 7),
    "qinq": (("rx", 512, 4), "qinq_v4", 400, NO_BATCH),
    "marks-v6": (("rx", 512, 4), "ce_marks_v6", 400, NO_BATCH),
    "jumbo": (("rx", 512, 4), "bulk_v4_jumbo", 400, NO_BATCH),
    "padded": (("rx", 512, 4), "rr_v4", 1500, NO_BATCH),
    "nic-short": (("nic", 64, 2), "short_flows_v4", 700, NO_BATCH),
    "nic-http": (("nic", 64, 2), "http_v6", 500, NO_BATCH),
}


class Failure(Exception):
    """What is wrong, what to do, and the exit code."""

    def __init__(self, text, advice, code):
        super().__init__(text)
        self.advice, self.code = advice, code


def groove(args, *words):
    words = [str(args.groove), *map(str, words)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        text = f"{' '.join(words)}: exit code {done.returncode}\n{done.stderr}"
        raise Failure(text, "see above", 1)


def build(args, top, bits, queues):
    """Emits and compiles. Gives the runner and both directories."""
    from cocotb_tools.runner import get_runner

    name = f"groove_{top}"
    emitted = args.work / f"{top}-{bits}-{queues}"
    compiled = args.work / f"{top}-{bits}-{queues}-build"
    words = ["--top", top, "--width", bits, "--queues", queues, "--lossless"]
    groove(args, "emit", *words, "--out", emitted)
    log = args.work / f"{emitted.name}.log"
    runner = get_runner("verilator")
    try:
        runner.build(
            sources=[emitted / f"{name}.v"],
            hdl_toplevel=name,
            build_dir=compiled,
            build_args=[str(emitted / f"{name}.vlt"), "-Wno-fatal"],
            timescale=("1ns", "1ps"),
            log_file=log,
        )
    except RuntimeError as error:
        raise Failure(f"Verilator or the compiler failed: {error}", f"see {log}", 5) from error
    return runner, emitted, compiled


def simulate(args, run, built):
    """One run: whether it passed, its figures, its seconds."""
    from cocotb_tools.runner import get_results

    (top, _, queues), capture, limit, batch = RUNS[run]
    runner, emitted, compiled = built
    pcap, expected = CAPTURES / f"{capture}.pcap", args.work / f"{run}.pcapng"
    figures, log = args.work / f"{run}.figures", args.work / f"{run}.log"
    figures.unlink(missing_ok=True)
    # The wrong one: the model's poll ends a frame earlier.
    polled = batch - (run == "wrong")
    words = ["--engine", "model", "--queues", queues, "--batch", polled, "--limit", limit]
    groove(args, "sim", pcap, *words, "--out", expected)
    start = time.monotonic()
    # The runner says what went wrong on standard error; its log has it as well.
    with contextlib.redirect_stderr(open(os.devnull, "w", encoding="utf-8")):
        results = runner.test(
            hdl_toplevel=f"groove_{top}",
            test_module={"rx": "rx_stream", "nic": "nic"}[top],
            build_dir=compiled,
            results_xml=f"{run}.xml",
            log_file=log,
            extra_env={
                "COCOTB_LOG_LEVEL": "WARNING",
                "PYTHONWARNINGS": "ignore",
                "PEERS_TABLE": str(emitted / "groove.h"),
                "PEERS_CAPTURE": str(pcap),
                "PEERS_LIMIT": str(limit),
                "PEERS_BATCH": str(batch),
                "PEERS_EXPECTED": str(expected),
                "PEERS_SEED": str(args.seed),
                "PEERS_PAUSE": str(args.pause),
                "PEERS_FIGURES": str(figures),
            },
        )
    tests, failed = get_results(results)
    told = figures.read_text(encoding="utf-8").splitlines() if figures.exists() else []
    return tests > 0 and failed == 0, told, time.monotonic() - start


def judge(args, run, passed, told, seconds):
    log = args.work / f"{run}.log"
    if run == "wrong":
        if passed or "AssertionError: delivery" not in log.read_text(encoding="utf-8"):
            raise Failure("a wrong expectation was not found", f"see {log}", 1)
        told = ["a wrong expectation is found"]
    elif not passed:
        again = f"setup/peers --seed {args.seed} --pause {args.pause} {run}"
        raise Failure(f"{run} differs: see {log}", f"again: {again}", 4)
    for line in told:
        print(f"{run:10} {line}; {seconds:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--groove", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=int, default=30)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("runs", nargs="*")
    args = parser.parse_args()
    if args.list:
        print("\n".join(RUNS))
        return
    chosen = args.runs or list(RUNS)
    unknown = [run for run in chosen if run not in RUNS]
    if unknown:
        raise Failure(f"no run {unknown[0]}", f"name some of: {' '.join(RUNS)}", 2)
    if not 0 <= args.pause <= 80:
        raise Failure(f"--pause {args.pause}: not a share that lets frames through", "0 to 80", 2)
    if not args.groove or not args.work:
        raise Failure("--groove and --work are missing", "setup/peers gives both", 2)
    args.work.mkdir(parents=True, exist_ok=True)
    # The simulator imports the tests by name.
    os.environ["PYTHONPATH"] = str(HERE)
    # How many compilers at once; and the package's Verilator was set up without knowing this one.
    flags = "CFG_CXXFLAGS_PCH_I=-include CFG_LDLIBS_THREADS=-pthread"
    os.environ["MAKEFLAGS"] = f"-j{multiprocessing.cpu_count()} {flags}"
    built = {}
    for run in chosen:
        what = RUNS[run][0]
        if what not in built:
            text = f"peers: building groove_{what[0]}, {what[1]} bits, queues {what[2]}"
            print(text, file=sys.stderr, flush=True)
            built[what] = build(args, *what)
        judge(args, run, *simulate(args, run, built[what]))


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        print(f"error: {failure}\nhelp: {failure.advice}", file=sys.stderr)
        sys.exit(failure.code)
