"""Runs what README.md shows, so that it stays true.

A fenced block counts when the line before it is one of
  <!-- run: package -->   a shell block, run in the package's folder
  <!-- run: session -->   a shell block, run in a new folder with `roost` in PATH; the blocks of a
                          README share that folder
  <!-- compile: NAME -->  a Swift program, built with the package as its dependency, and run
A `sh` or `swift` block without such a line is an error: nothing is left out unseen. The one
exception is <!-- fragment -->, for code that is no program.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

MANIFEST = """\
// swift-tools-version: 6.2
import PackageDescription
let package = Package(
  name: "readme", platforms: [.macOS(.v15)],
  dependencies: [.package(name: "roost", path: "{root}")],
  targets: [{targets}])
"""

TARGET = """
    .executableTarget(
      name: "{name}",
      dependencies: [.product(name: "Roost", package: "roost"), .product(name: "RoostKV", package: "roost")]),"""


def blocks(text):
    """The fenced blocks as (line number, marker, language, body)."""
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        if lines[number].startswith("```"):
            language = lines[number][3:].strip()
            end = next(i for i in range(number + 1, len(lines)) if lines[i].startswith("```"))
            before = lines[number - 1] if number else ""
            marker = re.fullmatch(r"<!-- (.+?) -->", before.strip())
            yield number + 1, marker.group(1) if marker else None, language, "\n".join(lines[number + 1 : end]) + "\n"
            number = end
        number += 1


def run(arguments, folder, environment):
    print(f"+ {' '.join(map(str, arguments))}", flush=True)
    subprocess.run(arguments, cwd=folder, env=environment, check=True)


def shell(body, folder, environment):
    print(body, flush=True)
    # A line at a time in effect: bash stops at the first command that fails.
    run(["bash", "-euo", "pipefail", "-c", body], folder, environment)


def main():
    programs, package, session = {}, [], []
    for line, marker, language, body in blocks((ROOT / "README.md").read_text()):
        if marker == "run: package":
            package.append(body)
        elif marker == "run: session":
            session.append(body)
        elif marker and marker.startswith("compile: "):
            programs[marker.removeprefix("compile: ")] = body
        elif language in ("sh", "swift") and marker != "fragment":
            sys.exit(f"README.md:{line}: the block does not say how it is checked")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = dict(os.environ, XDG_DATA_HOME=str(folder / "data"))
        for body in package:
            shell(body, ROOT, environment)

        products = subprocess.run(
            ["swift", "build", "-c", "release", "--show-bin-path"],
            cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout.strip()
        (folder / "session").mkdir()
        for body in session:
            shell(body, folder / "session", dict(environment, PATH=f"{products}:{environment['PATH']}"))

        user = folder / "user"
        for program, body in programs.items():
            (user / "Sources" / program).mkdir(parents=True)
            (user / "Sources" / program / "main.swift").write_text(body)
        targets = "".join(TARGET.format(name=program) for program in programs)
        (user / "Package.swift").write_text(MANIFEST.format(root=ROOT, targets=targets))
        # As a user builds it: a later compiler's warnings are no errors.
        environment.pop("ROOST_STRICT", None)
        run(["swift", "build"], user, environment)
        for program in programs:
            run(["swift", "run", "--skip-build", program], user, environment)


main()
