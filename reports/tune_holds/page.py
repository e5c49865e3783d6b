"""The page of the study."""

from typing import Any

from reports.markdown import table
from reports.study import Results

HEAD = ("family", "files", "nothing found", "held", "share", "Wilson", "over files", "worst file", "files below 95%")


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    everything, cost, oracle = results["all"], results["cost"], results["oracle"]
    unfinished = (
        f" {settings['cells']} of {settings['asked']} cells are finished: the intervals say how little that proves."
        if settings["cells"] < settings["asked"]
        else ""
    )
    return "\n\n".join(
        [
            "# Does the limit hold that tune promises?",
            f"{settings['files']} simulated files of {settings['records']} records and three replaced keys, each with "
            "a law of its own (`files.py`: heaped ages and skewed incomes; measurements in clusters with a nominal "
            "level; skewed counts with a rare answer and heaped hours; correlations from 0.1 to 0.9, one to three "
            f"clusters, up to three people who stand out). `tune` has {settings['trials']} trials, varies masks, makes "
            "three copies by the model `auto`, as `init` writes it, and is held to the default limits. A *fresh draw* "
            "is one judgement by the gate of the answer, as `synthdp run` makes it: 20 draws of the mechanism, 40 or "
            "60 where they leave doubt, every "
            "intruder, every limit. Each answer is judged 20 times, on draws that the search has not seen: from a pool "
            "of 100 draws, "
            "judgement k takes them from draw 5k on, so that each has the law of a run with a seed of its own, while "
            "those of one file share draws (intervals take files as the units). "
            f"`tune` says that at least {settings['holds']:.0%} of them hold. Regenerate: "
            f"`python -m reports tune_holds` (resumable).{unfinished}",
            "## Held on fresh draws",
            "![share of judgements that held, and usefulness beside the oracle's](tune_holds.svg)",
            table(HEAD, [_row(one) for one in (*results["families"], everything)]),
            "Wilson: as if all judgements were independent. Over files: files are clusters (the variance between them "
            "sets how many judgements the share is worth, but four count for one at least, as they share draws). That "
            "is also why some files may be below 95% where all hold with 95% or more. What was beyond its limit in "
            "judgements that did not "
            f"hold: {_counts(results['beyond'])}. The limit that binds: "
            f"{_counts(results['binding'])}.",
            "## Beside an oracle",
            _oracle(oracle),
            "## What it costs",
            f"One file of 300 records takes {_figure(cost['tune'])} processor seconds to tune "
            f"({_figure(cost['draws'])} draws in all), its twenty judgements {_figure(cost['fresh'])}, one oracle "
            f"{_figure(cost['oracle'])}; the study so far {_figure(cost['minutes'])} processor minutes.",
            "## File by file",
            table(
                ("file", "strength", "usefulness", "binds", "held", "largest risk / limit", "oracle", "gap"),
                [_line(one) for one in results["files"]],
            ),
        ]
    )


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    return (
        one["name"],
        str(one["files"]),
        str(one["nothing"]),
        f"{one['held']} of {one['judged']}",
        "–" if one["share"] is None else f"{one['share']:.1%}",
        _interval(one["wilson"]),
        _interval(one["over_files"]),
        "–" if one["worst"] is None else f"{one['worst']:.0%}",
        str(one["below"]),
    )


def _interval(ends: list[float | None]) -> str:
    low, high = ends
    return "–" if low is None or high is None else f"{low:.1%} to {high:.1%}"


def _oracle(one: dict[str, Any]) -> str:
    if not one["files"]:
        return "Not computed yet."
    half = "" if one["half"] is None else f" ± {one['half']:.2%}"
    return (
        "The oracle tries every start of `tune` and every column an octave weaker and stronger, each at every strength "
        "on the ladder that matters, and decides by 100 draws where the border is; usefulness is compared on 30 "
        f"draws under the same noise. On {one['files']} files `tune` is {one['mean']:.2%}{half} less useful (largest "
        f"{one['largest']:.2%}), within 2% on {one['within']} of them; the oracle's masks have a weaker common "
        f"strength on {one['weaker']}. A negative gap is chance in what `tune` and the oracle saw."
    )


def _line(one: dict[str, Any]) -> tuple[str, ...]:
    name = f"{one['family']} {one['number']}"
    if not one["found"]:
        return (name, "nothing found", "–", "–", "–", "–", "–", "–")
    return (
        name,
        f"{2 ** (one['rung'] / 4):.2g}",
        f"{one['use']:.3f}",
        one["binding"] or "–",
        f"{one['held']} of {one['judged']}",
        _figure(one["ratio"]),
        _figure(one["oracle_use"]),
        "–" if one["gap"] is None else f"{one['gap']:.1%}",
    )


def _counts(found: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in found.items()) or "nothing"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"
