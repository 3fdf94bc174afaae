#!/usr/bin/env python3
"""Measures Fencepost beside CubeCL, cubek, wgpu_sort and wgpu.

Usage:
  tools/peers.py launches               launches and replays, beside CubeCL
  tools/peers.py sums                   sums of the rows of a matrix, beside cubek
  tools/peers.py sorts                  sorts of pairs, beside wgpu_sort
  tools/peers.py weight                 crates, build and size of a minimal program, beside wgpu and CubeCL
  tools/peers.py weight fencepost       only the programs with `fencepost` in their names

Each program is a package of its own below target/peers, built in release mode: the first run takes many minutes. The
peers choose their adapter themselves, and on Linux Fencepost takes the first Vulkan adapter if FENCEPOST_ADAPTER is not
set. On a machine with several drivers, set VK_DRIVER_FILES to the manifest of one, so that all use the same. The times
of processors need a POSIX system.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tools" / "peers"
MADE = ROOT / "target" / "peers"

# Processes of each program. They alternate, so that other load on the machine affects all alike.
PROCESSES = 7

FENCEPOST = {"path": str(ROOT / "crates" / "fencepost")}
CUBECL = {"version": "0.11", "default-features": False, "features": ["std", "wgpu"]}
BYTEMUCK = {"bytemuck": "1"}

# The programs of each work: the name, the parts of the source, and the dependencies.
PROGRAMS = {
    "launches": [
        ("fencepost", ["launches_fencepost", "launches_common"], {"fencepost": FENCEPOST}),
        ("cubecl, wgpu", ["launches_cubecl", "launches_common"], {"cubecl": CUBECL} | BYTEMUCK),
    ],
    "sums": [
        ("fencepost sums", ["sums_fencepost", "sums_common"], {"fencepost": FENCEPOST}),
        (
            "cubek-reduce sums",
            ["sums_cubek", "sums_common"],
            {
                "cubek-reduce": {"version": "=0.4.0-pre.1", "default-features": False, "features": ["std"]},
                "cubecl": CUBECL | {"version": "=0.12.0-pre.1"},
            }
            | BYTEMUCK,
        ),
    ],
    "sorts": [
        ("fencepost sorts", ["sorts_fencepost", "sorts_common"], {"fencepost": FENCEPOST}),
        (
            "wgpu_sort",
            ["sorts_wgpu_sort", "sorts_common"],
            {"wgpu_sort": "0.1", "wgpu": "0.19", "pollster": "0.3"} | BYTEMUCK,
        ),
    ],
    "weight": [
        ("fencepost", ["weight_fencepost"], {"fencepost": FENCEPOST}),
        (
            "fencepost, no cpu",
            ["weight_fencepost"],
            {
                "fencepost": FENCEPOST
                | {"default-features": False, "features": ["vulkan", "metal", "dx12", "gles", "profile"]}
            },
        ),
        (
            "fencepost, vulkan only",
            ["weight_fencepost"],
            {"fencepost": FENCEPOST | {"default-features": False, "features": ["vulkan"]}},
        ),
        ("wgpu", ["weight_wgpu"], {"wgpu": "=30.0.1", "pollster": "1"} | BYTEMUCK),
        ("cubecl, wgpu", ["weight_cubecl"], {"cubecl": CUBECL} | BYTEMUCK),
    ],
}

# The times that each program prints, in microseconds: of a launch in `launches`, else of the whole work.
COLUMNS = {
    "launches": ["us a launch: the calls", "until read", "replay, the call", "until read of the replay"],
    "sums": ["us for the sums of 256 rows of 16,384"],
    "sorts": ["us for 1,048,576 sorted pairs"],
}

# Output of each program whose weight is measured.
RESULT = "[3.0, 5.0, 7.0, 9.0]"


def write(work, name, parts, dependencies):
    """Writes the package of a program, and returns its folder. An existing target folder is kept."""
    folder = MADE / f"{work}-{name.replace(', ', '-').replace(' ', '-')}"
    (folder / "src").mkdir(parents=True, exist_ok=True)
    # A string, a number or a list in JSON is also one in TOML.
    toml = "".join(f"[dependencies.{crate}]\n{table(of)}\n" for crate, of in dependencies.items())
    package = '[package]\nname = "minimal"\nversion = "0.0.0"\nedition = "2024"\n\n'
    (folder / "Cargo.toml").write_text(f"{package}{toml}[profile.release]\nstrip = true\n\n[workspace]\n")
    sources = [(SOURCES / f"{part}.rs").read_text() for part in parts]
    (folder / "src" / "main.rs").write_text("\n".join(sources))
    return folder


def table(dependency):
    fields = {"version": dependency} if isinstance(dependency, str) else dependency
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in fields.items())


def run(folder, *command, capture=False):
    """Runs a command in a package, without the settings of the workspace."""
    hidden = ["CARGO_TARGET_DIR", "RUSTFLAGS", "RUSTC_WRAPPER"]
    variables = {name: value for name, value in os.environ.items() if name not in hidden}
    if sys.platform == "linux":
        variables.setdefault("FENCEPOST_ADAPTER", "vulkan")
    ended = subprocess.run(command, cwd=folder, env=variables, capture_output=capture, text=True, check=True)
    return ended.stdout


def program(folder):
    return str(folder / "target" / "release" / ("minimal.exe" if os.name == "nt" else "minimal"))


def measure(work):
    """Builds the programs, runs them alternately, and returns the medians of the times that they print."""
    folders = {}
    for name, parts, dependencies in PROGRAMS[work]:
        folders[name] = write(work, name, parts, dependencies)
        run(folders[name], "cargo", "build", "--quiet", "--release")
    samples = {name: [] for name in folders}
    for _ in range(PROCESSES):
        for name, folder in folders.items():
            samples[name].append([float(word) for word in run(folder, program(folder), capture=True).split()])
    rows = []
    for name, times in samples.items():
        # A program prints NaN where a result is wrong.
        medians = [None if any(x != x for x in column) else statistics.median(column) for column in zip(*times)]
        rows.append({"program": name} | dict(zip(COLUMNS[work], medians)))
    return rows


def weigh(words):
    """Builds each program from an empty target folder, runs it, and returns the costs."""
    rows = []
    for name, parts, dependencies in PROGRAMS["weight"]:
        if words and not any(word in name for word in words):
            continue
        folder = write("weight", name, parts, dependencies)
        shutil.rmtree(folder / "target", ignore_errors=True)
        (folder / "Cargo.lock").unlink(missing_ok=True)
        run(folder, "cargo", "fetch", "--quiet")
        tree = ["cargo", "tree", "--edges", "normal,build", "--prefix", "none", "--format", "{p}"]
        crates = {line.removesuffix(" (*)") for line in run(folder, *tree, capture=True).splitlines()}
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime, time.monotonic()
        run(folder, "cargo", "build", "--quiet", "--release")
        seconds = time.monotonic() - start
        # User time, which other load on the machine changes little.
        processors = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        printed = run(folder, program(folder), capture=True).strip()
        assert printed == RESULT, f"the program with {name} printed {printed}"
        megabytes = Path(program(folder)).stat().st_size / 1e6
        rows.append(
            {
                "program": name,
                "crates": len(crates),
                "release build, s": round(seconds),
                "of processors, s": round(processors),
                "stripped binary, MB": round(megabytes, 1),
            }
        )
    return rows


def shown(cell):
    """Returns the text of a cell of the table."""
    if cell is None:
        return "no right result"
    if not isinstance(cell, float):
        return str(cell)
    return f"{cell:.0f}" if cell >= 1000 else f"{cell:.4g}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", choices=list(PROGRAMS))
    parser.add_argument("words", nargs="*", help="weight: parts of the names of programs")
    parser.add_argument("--json", action="store_true", help="print JSON in place of the table")
    arguments = parser.parse_args()
    rows = weigh(arguments.words) if arguments.work == "weight" else measure(arguments.work)
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return
    if rows:
        print("|", " | ".join(rows[0]), "|")
        print("|---" * len(rows[0]) + "|")
    for row in rows:
        cells = [shown(cell) for cell in row.values()]
        print("|", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
