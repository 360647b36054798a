"""Draws which Java package of the jar uses which, with jdeps: `make packages`.

Packages stand in layers, the lowest at the bottom. An arrow that follows from others is left out; an arrow of a cycle
is red.
"""

import argparse
import re
import subprocess
from collections import defaultdict
from pathlib import Path

from bench_report.charts import BOX, GREY, INK, RED, plt, save

ROOT = "org.mmapqueue"
ERRORS = f"{ROOT}.errors."
#: The face has two layers: these, and its entry points.
VALUES = f"{ROOT} (value types)"
ARROW = re.compile(rf"^\s+({re.escape(ROOT)}[\w.]*)\s+->\s+({re.escape(ROOT)}[\w.]*)\s")
#: Inches of one package, and between packages and layers.
WIDTH, HEIGHT, GAP, RISE = 1.25, 0.46, 0.18, 0.46

Arrows = dict[str, set[str]]


def arrows(jar: Path) -> Arrows:
    """Which package uses which others, by jdeps."""
    command = ["jdeps", "--module-path", str(jar.parent)]  # slf4j, which the module requires, is beside it
    command += ["--multi-release", "base", "-verbose:class", "-filter:none", str(jar)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    classes: Arrows = defaultdict(set)
    for line in text.splitlines():
        if match := ARROW.match(line):
            user, used = (name.partition("$")[0] for name in match.groups())
            classes[user].add(used)
            classes[used] |= set()
    values = value_types(classes)
    found: Arrows = defaultdict(set)
    for user, others in classes.items():
        package = VALUES if user in values else user.rpartition(".")[0]
        found[package] |= {VALUES if used in values else used.rpartition(".")[0] for used in others} - {package}
    return dict(found)


def value_types(classes: Arrows) -> set[str]:
    """Classes of the face that use nothing below it but errors: the bottom, where the rest of the face is the top."""
    face = {name for name in classes if name.rpartition(".")[0] == ROOT}
    values = face
    while True:
        kept = {name for name in values if all(used in values or used.startswith(ERRORS) for used in classes[name])}
        if kept == values:
            return values
        values = kept


def reachable(uses: Arrows, start: str) -> set[str]:
    """All packages that a package uses, directly or through others."""
    seen: set[str] = set()
    waiting = list(uses[start])
    while waiting:
        package = waiting.pop()
        if package not in seen:
            seen.add(package)
            waiting += uses[package]
    return seen


def layers(uses: Arrows) -> dict[str, int]:
    """The layer of each package: one above the highest that it uses. Packages of a cycle share one."""
    below = {package: reachable(uses, package) for package in uses}
    found: dict[str, int] = {}
    for package in sorted(uses, key=lambda each: len(below[each])):
        lower = [found[each] for each in below[package] if package not in below[each] and each in found]
        found[package] = 1 + max(lower, default=-1)
    return found


def needed(uses: Arrows) -> list[tuple[str, str, bool]]:
    """Arrows that do not follow from others, and whether each is part of a cycle."""
    found = []
    for user, direct in uses.items():
        for used in direct:
            cycle = user in reachable(uses, used)
            around = any(used in reachable(uses, other) for other in direct - {used} if user not in uses[other])
            if cycle or not around:
                found.append((user, used, cycle))
    return sorted(found)


def positions(level: dict[str, int], uses: Arrows) -> dict[str, tuple[float, float]]:
    """The middle of each package's box: layers centred, packages near those that they use."""
    found: dict[str, tuple[float, float]] = {}
    rows: dict[int, list[str]] = defaultdict(list)
    for package, row in level.items():
        rows[row].append(package)
    for row in sorted(rows):

        def middle(package: str) -> tuple[float, str]:
            used = [found[each][0] for each in uses[package] if each in found]
            return (sum(used) / len(used) if used else 0.0, package)

        for column, package in enumerate(sorted(rows[row], key=middle)):
            across = (column - (len(rows[row]) - 1) / 2) * (WIDTH + GAP)
            found[package] = (across, row * (HEIGHT + RISE))
    return found


def draw(uses: Arrows, target: Path) -> None:
    """Writes the picture."""
    level = layers(uses)
    centers = positions(level, uses)
    wide = max(abs(x) for x, _ in centers.values()) * 2 + WIDTH + GAP
    high = max(y for _, y in centers.values()) + HEIGHT + GAP
    figure, axes = plt.subplots(figsize=(wide, high))
    for user, used, cycle in needed(uses):
        (x, y), (to_x, to_y) = centers[user], centers[used]
        up = to_y > y
        axes.annotate(
            "",
            xy=(to_x, to_y + (-HEIGHT / 2 if up else HEIGHT / 2)),
            xytext=(x, y + (HEIGHT / 2 if up else -HEIGHT / 2)),
            arrowprops={"arrowstyle": "->", "color": RED if cycle else GREY, "shrinkA": 0, "shrinkB": 1},
        )
    for package, (x, y) in centers.items():
        # A long name has two lines.
        first, dot, last = package.removeprefix(f"{ROOT}.").rpartition(".")
        label = f"value types\nof {ROOT}" if package == VALUES else f"{first}{dot}\n{last}" if first else last
        if package == ROOT:
            label = ROOT
        axes.text(
            *(x, y, label),
            ha="center",
            va="center",
            fontsize=9,
            bbox={"boxstyle": "round,pad=0.35", "facecolor": BOX, "edgecolor": INK},
        )
    axes.set_xlim(-wide / 2, wide / 2)
    axes.set_ylim(-HEIGHT / 2 - GAP / 2, high - HEIGHT / 2)
    axes.axis("off")
    save(figure, target, bbox_inches="tight")


def main() -> None:
    """Draws what the arguments say."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("jar", type=Path)
    options.add_argument("target", type=Path, help="an SVG file")
    chosen = options.parse_args()
    uses = arrows(chosen.jar)
    draw(uses, chosen.target)
    for user, used, cycle in needed(uses):
        if cycle:
            print(f"cycle: {user} -> {used}")


if __name__ == "__main__":
    main()
