"""What a search leaves in its folder: tuned.yaml, which runs as it is, every trial, and one page to read."""

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

import yaml

from synthdp import __version__
from synthdp.config import Config
from synthdp.config.settings import AnyMask
from synthdp.evaluation.gate import LIMITS
from synthdp.files import write_atomic
from synthdp.masking.categorical import ShiftedNormal, Transition
from synthdp.masking.gaussian import Gaussian
from synthdp.stages.kept_advice import as_text, given_settings
from synthdp.tuning.blame import failing
from synthdp.tuning.leaves import TREES
from synthdp.tuning.page import render, render_refused
from synthdp.tuning.rays import factor_of
from synthdp.tuning.result import Tuned, table_of
from synthdp.tuning.space import Space
from synthdp.tuning.strengths import Masked
from synthdp.tuning.trials import VERBATIM, Trial

TUNED: str = "tuned.yaml"
TRIALS: str = "trials.csv"
REPORT: str = "report.html"
README: str = "CONFIDENTIAL.txt"
WIDTH = 110
CONFIDENTIAL = (
    "Everything in this folder is as confidential as the data: it was made by looking at the records, and "
    "trials.sqlite holds the seed of the trials. Nothing of it is to be published or passed on.\n"
)


def write(tuned: Tuned, out: Path, data: Path) -> None:
    """Write settings, trials and page into a folder, for their owner only."""
    write_atomic(out / README, CONFIDENTIAL.encode())
    write_atomic(out / TRIALS, tuned.table().to_csv(index=False).encode())
    write_atomic(out / REPORT, render(tuned).encode())
    write_atomic(out / TUNED, settings_text(tuned, out, data).encode())


def write_refused(space: Space, trials: Sequence[Trial], said: Sequence[str], change: str, out: Path) -> None:
    """Write what was tried, and why nothing came of it; settings of a shorter search do not stay beside that."""
    (out / TUNED).unlink(missing_ok=True)
    write_atomic(out / README, CONFIDENTIAL.encode())
    write_atomic(out / TRIALS, table_of(space, trials).to_csv(index=False).encode())
    write_atomic(out / REPORT, render_refused(space, trials, said, change).encode())


def settings_text(tuned: Tuned, out: Path, data: Path) -> str:
    """Return tuned.yaml: the whole config, files named as seen from ``out``, with the reasons beside the strengths."""
    config = as_seen_from(out, tuned.settings, data)
    blocks = given_settings(config)
    masks = {"masks": config.masks, "masks_by_group": config.masks_by_group}
    plain = {"version": 1} | {
        name: said for name, said in blocks.items() if name not in (*masks, "version", "tuned", "seed")
    }
    plain["synthesis"] = _with_method(config.synthesis)
    how = f"runs as it is: synthdp run {TUNED}"
    if not data.exists():
        how = f"the table was in memory: name its file under data.path, then synthdp run {TUNED}"
    lines = [
        f"# Written by synthdp {__version__} tune; {how}",
        *_comment("Confidential: chosen by looking at the records. Files are named as seen from this folder."),
        *(line for sentence in tuned.cautions for line in _comment(sentence)),
        "",
    ]
    lines += as_text(plain).splitlines()
    lines += ["", *_mask_lines(tuned, config)]
    lines += ["", "# What a run of these settings is expected to come to; run says whether it did."]
    lines += as_text({"tuned": given_settings(tuned.promise())}).splitlines()
    return "\n".join(lines) + "\n"


def _mask_lines(tuned: Tuned, config: Config) -> Iterator[str]:
    chosen = tuned.chosen
    yield from _comment(f"{_how_strong(tuned)} Expected usefulness {chosen.use:.3f}.")
    common = factor_of(chosen.rung)
    relative = {one.name: (one, step) for one, step in zip(tuned.space.columns, chosen.shape.relative, strict=True)}
    if config.masks:
        yield "masks:"
    for name, mask in config.masks.items():
        if name in relative:
            one, step = relative[name]
            yield f"  # {_why(one, mask, common, step)}"
        yield f"  {_inline(name)}: {_inline(_with_method(mask))}"
    if config.masks_by_group:
        yield "# records with few like them on the keys are hidden more"
        yield "masks_by_group:"
    for group, masks in config.masks_by_group.items():
        yield f"  {_inline(group)}:"
        yield from (f"    {_inline(name)}: {_inline(_with_method(mask))}" for name, mask in masks.items())


def _how_strong(tuned: Tuned) -> str:
    """Return why masks are not weaker: what weaker ones failed, or what comes closest to its limit."""
    chosen, worst = tuned.chosen, tuned.chosen.worst()
    weaker = [one for one in tuned.trials if one.shape == chosen.shape and one.rung < chosen.rung and not one.problem]
    next_ = max(weaker, key=lambda one: one.rung, default=None)
    how = "How small leaves are" if chosen.shape.model == TREES else "How strong"
    least = "the smallest leaves that hold" if chosen.shape.model == TREES else "the weakest masks that hold"
    if next_ is not None and [one.name for one in failing(next_)] == [VERBATIM]:
        what = "smaller ones" if chosen.shape.model == TREES else "weaker masks"
        return f"{how}: {what} leave rows or values as they are, which the scan for leaks of run stops."
    binding = tuned.binding()
    if not binding or worst[binding].deciding is None:
        return f"{how}: {least}."
    limit = worst[binding]
    form = ".2%" if LIMITS[binding].share else ".3g"
    what = f"{LIMITS[binding].brief} {limit.deciding:{form}} of {limit.limit:{form}}, by {limit.attack}"
    return f"{how}: {least}. Closest to its limit is {binding} ({what})."


def _why(one: Masked, mask: AnyMask, common: float, step: int) -> str:
    """Return in words what the figure of a mask means, and how strong it is beside the others.

    Examples
    --------
    >>> _why(Masked("age", 0, True, 1.0, Gaussian(sd=1)), Gaussian(sd=0.71), 1.41, -2)
    "noise of 0.71 times the column's own spread; 2 times weaker than the common strength of 1.4"
    """
    if not step:
        return _meaning(one, mask)
    times = f"{2 ** (abs(step) / 2):.2g} times {'stronger' if step > 0 else 'weaker'}"
    return f"{_meaning(one, mask)}; {times} than the common strength of {common:.2g}"


def _meaning(one: Masked, mask: AnyMask) -> str:
    """Return what is true of a mask of this kind: noise has a spread, alpha is a signal, keep a probability."""
    if isinstance(mask, Gaussian) and mask.sd is not None:
        noise = mask.sd / math.sqrt(mask.copies)
        if mask.graded is None:
            return f"noise of {noise:.2g} times the column's own spread"
        noise *= math.sqrt(mask.graded / mask.fewest)
        return f"noise of {noise:.2g} times the column's own spread for people with few like them, less for others"
    if isinstance(mask, ShiftedNormal) and mask.alpha > 0:
        noise = 1 / (mask.alpha * one.spread)
        return f"noise of sd 1 on levels {mask.alpha:.2g} apart: {noise:.2g} times the column's own spread"
    if isinstance(mask, Transition) and mask.keep is not None:
        other = "the other" if one.levels == 2 else f"one of the other {one.levels - 1} by chance"
        return f"says the true level with probability {mask.keep:.2g}, else {other}"
    return mask.describe()


def _with_method(settings: AnyMask | Any) -> dict[str, Any]:
    found = {"method": settings.method, **given_settings(settings)}
    model = getattr(settings, "model", None)
    return found if model is None else found | {"model": {"method": model.method, **given_settings(model)}}


def _inline(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10_000, sort_keys=False)
    return str(text).removesuffix("\n...\n").strip()


def _comment(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ", break_long_words=False)


def as_seen_from(out: Path, config: Config, data: Path) -> Config:
    """Return the config with the files it names relative to the folder it is written to."""

    def seen(path: Path | str) -> str:
        return os.path.relpath(Path(path).resolve(), out.resolve())

    changed: dict[str, Any] = {"data": config.data.model_copy(update={"path": Path(seen(data))})}
    if config.release.recorded_in not in (None, "none"):
        changed["release"] = config.release.model_copy(update={"recorded_in": seen(str(config.release.recorded_in))})
    judged: dict[str, Any] = {}
    if config.evaluation.holdout is not None:
        judged["holdout"] = seen(config.evaluation.holdout)
    if config.evaluation.rows not in ("aligned", "none"):
        judged["rows"] = seen(config.evaluation.rows)
    if judged:
        changed["evaluation"] = config.evaluation.model_copy(update=judged)
    return config.model_copy(update=changed)
