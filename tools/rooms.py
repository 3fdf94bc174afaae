#!/usr/bin/env python3
"""Prints the size of each crate: files, lines, lengths of files and functions, public items, tuple lets.

Usage:
  tools/rooms.py                 the working tree
  tools/rooms.py --rev v0.1.0    a commit
  tools/rooms.py --json          a line of JSON for each crate

A line is a test's if its file has `test` or `loom` in its path, or if it is in an item under `#[cfg(test)]`. Code is a
line that is neither blank nor a comment alone. A median or percentile of files leaves tests out. A tuple let is a
`let (a, b) = (x, y)`.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
STRING = re.compile(r'(?:b|c)?r(#*)"|(?:b|c)?"')
CHAR = re.compile(r"'(?:\\(?:x[0-9a-fA-F]{2}|u\{[^}]*\}|.)|[^\\'\n])'")
TUPLE_LET = re.compile(r"\blet \((?:mut )?\w+(?:, (?:mut )?\w+)+,?\)(?:: \([^=;]*\))? = \(")
NOUN = re.compile(
    r"(?m)^[ \t]*///(?! ?```)[ ]?(?P<first>\w+)[^\n]*\n(?:[ \t]*///[^\n]*\n|[ \t]*#\[[^\n]*\]\n)*"
    r"[ \t]*(?:pub(?:\([^)]*\))? )?(?:(?:struct|enum|union|trait|const|static|type) |[a-z_][a-z0-9_]*: )"
)
VERBS = (
    "Is Are Holds Counts Names Lists Limits Says Has Gives Stores Keeps Contains Marks Tells Points Describes Shows"
).split()


def files(rev):
    """Yields the path and the text of each Rust file."""
    listing = ["git", "ls-files", "*.rs"] if rev is None else ["git", "ls-tree", "-r", "--name-only", rev]
    paths = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    paths = [path for path in paths if path.endswith(".rs")]
    if rev is None:
        for path in paths:
            if (ROOT / path).is_file():
                yield path, (ROOT / path).read_text(encoding="utf-8")
        return
    batch = subprocess.Popen(
        ["git", "cat-file", "--batch"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    for path in paths:
        batch.stdin.write(f"{rev}:{path}\n".encode())
        batch.stdin.flush()
        size = int(batch.stdout.readline().split()[2])
        yield path, batch.stdout.read(size).decode("utf-8")
        batch.stdout.read(1)
    batch.stdin.close()
    batch.wait()


def crate_of(path):
    parts = path.split("/")
    return "/".join(parts[:2]) if parts[0] == "crates" else parts[0]


def tuple_lets(code):
    """Counts the lets of several values. `let (sin, cos) = (a + b).sin_cos()` takes the values of one call."""
    count = 0
    for found in TUPLE_LET.finditer(code):
        end, depth = found.end(), 1
        while depth:
            depth += (code[end] in "([{") - (code[end] in ")]}")
            end += 1
        count += code.startswith(";", end)
    return count


def blank(text):
    """Returns the text with strings, characters and comments replaced by spaces, line by line as before."""
    out, at = [], 0
    while at < len(text):
        end = at
        if text.startswith("//", at):
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
        elif text.startswith("/*", at):
            end = text.find("*/", at) + 2
        elif name := NAME.match(text, at):
            string = STRING.match(text, at)
            if not string:
                out.append(name.group())
                at = name.end()
                continue
            end = string_end(text, string)
        elif string := STRING.match(text, at):
            end = string_end(text, string)
        elif char := CHAR.match(text, at):
            end = char.end()
        if end > at:
            out.append(re.sub(r"[^\n]", " ", text[at:end]))
            at = end
        else:
            out.append(text[at])
            at += 1
    return "".join(out)


def string_end(text, string):
    if string.group(1) is not None:
        close = '"' + string.group(1)
        return text.index(close, string.end()) + len(close)
    at = string.end()
    while text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at + 1


def block_end(code, at):
    """Returns the place after the block or the semicolon that ends an item."""
    depth = 0
    while at < len(code):
        if code[at] == "{":
            depth += 1
        elif code[at] == "}":
            depth -= 1
            if depth == 0:
                return at + 1
        elif code[at] == ";" and depth == 0:
            return at + 1
        at += 1
    return at


def test_lines(path, code):
    if re.search(r"test|loom", path):
        return set(range(code.count("\n") + 1))
    lines = set()
    for found in re.finditer(r"#\[cfg\((?:test|all\(test)[^\]]*\]", code):
        end = block_end(code, found.end())
        lines.update(range(code.count("\n", 0, found.start()), code.count("\n", 0, end) + 1))
    return lines


def percentile(values, share):
    values = sorted(values)
    return values[min(int(len(values) * share), len(values) - 1)] if values else 0


def measure(sources):
    of_crate = {}
    for path, text in sources:
        crate = of_crate.setdefault(
            crate_of(path),
            {"files": 0, "lines": 0, "code": 0, "comments": 0, "tests": 0, "file": [], "fn": [], "uses": 0}
            | {"pub": 0, "pub_in": 0, "tuple_lets": 0, "nouns": 0, "verbs": 0},
        )
        code = blank(text)
        lines, plain = text.split("\n"), code.split("\n")
        tests = test_lines(path, code)
        crate["files"] += 1
        crate["lines"] += len(lines) - 1
        crate["tests"] += len(tests)
        for at, line in enumerate(lines):
            if line.strip().startswith("//"):
                crate["comments"] += 1
            elif plain[at].strip() and at not in tests:
                crate["code"] += 1
        if not re.search(r"test|loom", path):
            crate["file"].append(len(lines) - 1)
        for found in re.finditer(r"\bfn \w+", code):
            line = code.count("\n", 0, found.start())
            if line not in tests:
                crate["fn"].append(code.count("\n", found.start(), block_end(code, found.start())) + 1)
        crate["uses"] += len(re.findall(r"(?m)^[ \t]*(?:pub(?:\([^)]*\))? )?use ", code))
        crate["pub"] += len(re.findall(r"\bpub (?!use\b)", code))
        crate["pub_in"] += len(re.findall(r"\bpub\([^)]*\) (?!use\b)", code))
        crate["tuple_lets"] += tuple_lets(code)
        firsts = [found.group("first") for found in NOUN.finditer(text)]
        crate["nouns"] += len(firsts)
        crate["verbs"] += sum(first in VERBS for first in firsts)
    return of_crate


def row(name, crate):
    file, fn = crate["file"], crate["fn"]
    return {
        "crate": name,
        "files": crate["files"],
        "lines": crate["lines"],
        "code": crate["code"],
        "comments": crate["comments"],
        "tests": crate["tests"],
        "file p50": percentile(file, 0.5),
        "p90": percentile(file, 0.9),
        "max": max(file, default=0),
        "fn p50": percentile(fn, 0.5),
        "p99": percentile(fn, 0.99),
        "fn max": max(fn, default=0),
        "pub": crate["pub"],
        "pub(..)": crate["pub_in"],
        "tuple lets": crate["tuple_lets"],
        "noun docs with a verb %": round(100 * crate["verbs"] / crate["nouns"]) if crate["nouns"] else 0,
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rev", help="a commit, in place of the working tree")
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each crate")
    arguments = parser.parse_args()
    crates = measure(files(arguments.rev))
    rows = [row(name, crate) for name, crate in sorted(crates.items(), key=lambda each: -each[1]["lines"])]
    whole = {key: sum(row[key] for row in rows) for key in ("files", "lines", "code", "comments", "tests")}
    whole |= {key: sum(row[key] for row in rows) for key in ("pub", "pub(..)", "tuple lets")}
    rows.append({key: whole.get(key, "") for key in rows[0]} | {"crate": "all"})
    if arguments.json:
        for each in rows:
            print(json.dumps(each))
        return
    widths = {key: max(len(key), *(len(str(each[key])) for each in rows)) for key in rows[0]}
    print("  ".join(key.ljust(width) for key, width in widths.items()))
    for each in rows:
        print("  ".join(str(each[key]).ljust(width) for key, width in widths.items()))


if __name__ == "__main__":
    sys.exit(main())
