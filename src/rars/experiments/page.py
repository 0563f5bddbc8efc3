"""One page that says it all: tables, figures, what was run and what to keep in mind, in one HTML file.

Owns: the report's look. It needs no network, follows the reader's light or dark setting, and prints well.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from rars.experiments import learning_rate
from rars.experiments.learning_rate import Curve
from rars.experiments.tables import Cell, Table

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2937; --dim: #6b7280; --line: #e5e7eb; --paper: #ffffff;
  --card: #f9fafb; --mark: #3f6fa6; --good: #2f7a4b; --bad: #b64e4e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e5e7eb; --dim: #9ca3af; --line: #374151;
  --paper: #111827; --card: #1f2937; --mark: #8ab4e8; --good: #7ccf9a; --bad: #f0a0a0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 68rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; text-wrap: balance; }
h2 { font-size: 1.15rem; margin: 2.25rem 0 .5rem; }
p, li { max-width: 52rem; } .dim, figcaption { color: var(--dim); font-size: .875rem; }
.facts { display: flex; flex-wrap: wrap; gap: .5rem 2rem; padding: .75rem 1rem; margin: 1rem 0;
  background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
.facts div { font-size: .875rem; color: var(--dim); } .facts b { display: block; color: var(--ink); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .3rem .7rem; text-align: right; vertical-align: top; white-space: nowrap; }
th.l, td.l { text-align: left; } thead th { border-bottom: 2px solid var(--line); }
thead tr.groups th { border-bottom: 1px solid var(--line); text-align: center; }
tbody tr { border-bottom: 1px solid var(--line); }
tr.title td { font-style: italic; color: var(--dim); padding-top: .8rem; }
td small { display: block; color: var(--dim); font-size: .75rem; } td .sd { color: var(--dim); }
figure { margin: 1rem 0; } img { max-width: 100%; background: #fff; border-radius: .4rem; padding: .4rem;
  border: 1px solid var(--line); }
.better { color: var(--good); } .worse { color: var(--bad); }
code { font: .85em ui-monospace, monospace; } details { margin: 1rem 0; }
summary { cursor: pointer; font-weight: 600; }
.warn { border-left: 4px solid var(--bad); padding: .25rem 1rem; background: var(--card); }
@media print { :root { color-scheme: light; --ink: #000; --paper: #fff; --dim: #444; --card: #fff; }
  body { padding: 0; font-size: 11px; max-width: none; } figure, tr { break-inside: avoid; }
  h2 { break-after: avoid; } .wide { overflow: visible; } }
"""


def report(
    payload: Mapping[str, Any],
    tables: Sequence[Table],
    pictures: Sequence[Path],
    curves: Sequence[Curve],
    tuning: Path | None,
    failures: Sequence[str],
) -> str:
    """The whole page."""
    name, title = str(payload["experiment"]), str(payload["title"])
    parts = [f"<h1>{escape(title)}</h1>", _facts(payload)]
    if failures:
        parts.append(_listed("warn", "Not all runs could be made; these are missing:", failures))
    parts += [_table(table) for table in tables]
    parts += [_picture(path, title) for path in pictures]
    parts += [_findings(payload["findings"]), _rate(payload, curves, tuning), _runs(payload)]
    body = "\n".join(part for part in parts if part)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>rars experiment {escape(name)}</title><style>{_STYLE}</style></head>\n"
        f"<body>\n{body}\n</body></html>\n"
    )


def _facts(payload: Mapping[str, Any]) -> str:
    data, asked = payload["data"], payload["queries"].get("all")
    shown = {
        "experiment": payload["experiment"],
        "dataset": f"{data['name']}, {data['items']:,} items",
        **({"test queries": f"{asked:,}"} if asked else {}),
        "size": payload["size"],
        "seeds": payload["seeds"],
        "rars": payload["rars"],
    }
    if payload["changes"]:
        shown["changed settings"] = ", ".join(payload["changes"])
    cells = (f"<div>{escape(key)}<b>{escape(str(value))}</b></div>" for key, value in shown.items())
    return f'<div class="facts">{"".join(cells)}</div>'


def _table(table: Table) -> str:
    heads = [f'<th class="l">{escape(one)}</th>' for one in table.labels]
    heads += [f"<th>{escape(one)}</th>" for one in table.columns]
    groups = ""
    if table.groups:
        spans = "".join(f'<th colspan="{count}">{escape(one)}</th>' for one, count in table.groups)
        groups = f'<tr class="groups"><th colspan="{len(table.labels)}"></th>{spans}</tr>'
    lines = []
    for block in table.blocks:
        if block.title:
            title = f'<td class="l" colspan="{table.width}">{escape(block.title)}</td>'
            lines.append(f'<tr class="title">{title}</tr>')
        for row in block.rows:
            labels = "".join(f'<td class="l">{escape(one)}</td>' for one in row.labels)
            lines.append(f"<tr>{labels}{''.join(map(_cell, row.cells))}</tr>")
    return (
        f'<h2>{escape(table.title)}</h2><div class="wide"><table><thead>{groups}'
        f"<tr>{''.join(heads)}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
        f'<p class="dim">{escape(table.noted)}</p>'
    )


def _cell(cell: Cell) -> str:
    tag = {"best": "b", "second": "u", "": "span"}[cell.mark]
    spread = f' <span class="sd">± {escape(cell.spread)}</span>' if cell.spread else ""
    interval = f"<small>[{escape(', '.join(cell.interval))}]</small>" if cell.interval else ""
    return f"<td><{tag}>{escape(cell.text)}</{tag}>{spread}{interval}</td>"


def _picture(path: Path, title: str) -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<figure><img alt="{escape(title)}" src="data:image/png;base64,{data}"></figure>'


def _findings(sentences: Sequence[str]) -> str:
    if not sentences:
        return ""
    shown = (_colored(escape(one)) for one in sentences)
    listed = "".join(f"<li>{one}</li>" for one in shown)
    return f"<h2>What it shows</h2><ul>{listed}</ul>"


def _colored(sentence: str) -> str:
    better, worse = "significantly better", "significantly worse"
    return sentence.replace(better, f'<b class="better">{better}</b>').replace(
        worse, f'<b class="worse">{worse}</b>'
    )


def _rate(payload: Mapping[str, Any], curves: Sequence[Curve], tuning: Path | None) -> str:
    if not curves:
        given = "The learning rate was given on the command line, not chosen on validation queries."
        return f"<h2>Learning rate</h2><p>{given}</p>" if payload["learning_rate_given"] else ""
    notes = "".join(f"<li>{escape(one)}</li>" for one in learning_rate.notes(curves))
    picture = _picture(tuning, "Validation recall by learning rate") if tuning else ""
    return (
        f"{_table(learning_rate.table(curves))}<ul>{notes}<li>Every condition is trained at the rate "
        f"of base, unless its row says otherwise.</li></ul>{picture}"
    )


def _runs(payload: Mapping[str, Any]) -> str:
    if not payload["runs"]:
        return ""
    columns = ("condition", "seed", "run", "learning rate", "steps", "seconds")
    heads = "".join(f'<th class="l">{one}</th>' for one in columns)
    lines = []
    for run in payload["runs"]:
        values = (
            run["label"],
            run["seed"],
            run["run"],
            run["learning_rate"],
            run["steps"],
            run["seconds"] if run["finished"] else "missing",
        )
        cells = ("–" if value is None else escape(str(value)) for value in values)
        lines.append("<tr>" + "".join(f'<td class="l">{one}</td>' for one in cells) + "</tr>")
    data = payload["data"]
    return (
        f"<details><summary>What was run: {len(lines)} runs</summary>"
        f'<p class="dim">A run folder is named by the digest of the data and its resolved recipe; '
        f"<code>rars verify RUN</code> checks it. Digest of the data: <code>{data['digest']}</code>. "
        f"This page took {payload['seconds']:,.0f} s; seconds below are training times.</p>"
        f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(lines)}'
        f"</tbody></table></div></details>"
    )


def _listed(kind: str, text: str, items: Iterable[str]) -> str:
    listed = "".join(f"<li>{escape(one)}</li>" for one in items)
    return f'<div class="{kind}"><p>{escape(text)}</p><ul>{listed}</ul></div>'
