"""Score against budget, by strategy, as a picture: one SVG file, made here."""

from __future__ import annotations

import math
from collections.abc import Iterable
from xml.sax.saxutils import escape

Points = dict[str, dict[int, float]]
"""For each strategy its score by budget."""

WIDTH, HEIGHT = 860, 480
LEFT, RIGHT, TOP, BOTTOM = 64, 240, 84, 56
LEAST_GAP = 19
COLOURS = ("#0b6e4f", "#c8553d", "#3d5a98", "#b08900", "#7a4f9a", "#6b7280", "#1f9bb5")
STYLE = """text{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#24292f}
.small{font-size:12px;fill:#57606a}.label{font-size:13px}.title{font-size:18px;font-weight:600}
.grid{stroke:#d8dee4;stroke-width:1}.axis{stroke:#8c959f;stroke-width:1}"""


def picture(points: Points, names: dict[str, str], note: str) -> str:
    """`names` gives the strategies in order, and what each is called; the first is the one that it is about."""
    budgets = sorted({budget for some in points.values() for budget in some})
    shown = [name for name in names if points.get(name)]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="Handoff quality against budget">',
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        _text(LEFT, 30, "Handoff quality against the budget of the brief", "title"),
        _text(LEFT, 50, note, "small"),
        *_grid(budgets),
    ]
    ends = _spread({name: _y(points[name][max(points[name])]) for name in shown})
    # The one that it is about is drawn last, over the others.
    for number, name in reversed(list(enumerate(names))):
        if name not in shown:
            continue
        parts += _line(points[name], budgets, COLOURS[number % len(COLOURS)], number == 0)
        last = max(points[name])
        label = f"{names[name]}  {points[name][last]:.0f}"
        parts.append(
            f'<text x="{_x(last, budgets) + 14:.1f}" y="{ends[name] + 4:.1f}" class="label" '
            f'style="fill:{COLOURS[number % len(COLOURS)]};font-weight:{600 if number == 0 else 400}">{escape(label)}</text>'
        )
    return "\n".join([*parts, "</svg>\n"])


def _x(budget: int, budgets: list[int]) -> float:
    low, high = math.log(budgets[0]), math.log(budgets[-1])
    share = (math.log(budget) - low) / (high - low) if high > low else 0.5
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(score: float) -> float:
    return HEIGHT - BOTTOM - score / 100 * (HEIGHT - TOP - BOTTOM)


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>'


def _grid(budgets: list[int]) -> Iterable[str]:
    for score in range(0, 101, 20):
        y = _y(score)
        kind = "axis" if score == 0 else "grid"
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" class="{kind}"/>'
        yield _text(LEFT - 10, y + 4, str(score), "small", "end")
    for budget in budgets:
        x = _x(budget, budgets)
        yield f'<line x1="{x:.1f}" y1="{_y(0):.1f}" x2="{x:.1f}" y2="{_y(0) + 5:.1f}" class="axis"/>'
        yield _text(x, _y(0) + 20, f"{budget / 1000:g}k", "small", "middle")
    yield _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "tokens that the brief may have", "small", "middle")
    yield _text(LEFT - 10, TOP + 2 - 14, "HQ", "small", "end")


def _line(some: dict[int, float], budgets: list[int], colour: str, is_first: bool) -> Iterable[str]:
    width = 3 if is_first else 1.8
    at = [(_x(budget, budgets), _y(some[budget])) for budget in sorted(some)]
    if len(at) > 1:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round"/>'
    for x, y in at:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{4.5 if is_first else 3.2}" fill="{colour}" stroke="#fff" stroke-width="1.2"/>'


def _spread(wanted: dict[str, float]) -> dict[str, float]:
    """Labels far enough from each other to be read."""
    placed: dict[str, float] = {}
    lowest = float(TOP - LEAST_GAP)
    for name in sorted(wanted, key=lambda one: wanted[one]):
        lowest = max(wanted[name], lowest + LEAST_GAP)
        placed[name] = lowest
    over = lowest - (HEIGHT - BOTTOM)
    if over > 0:
        ceiling = float(HEIGHT - BOTTOM)
        for name in sorted(placed, key=lambda one: -placed[one]):
            placed[name] = min(placed[name], ceiling)
            ceiling = placed[name] - LEAST_GAP
    return placed
