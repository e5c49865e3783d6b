"""The config file: everything but the data has a default, unknown keys are errors that name the nearest valid one."""

from synthdp.config.reading import load, parse, variant
from synthdp.config.settings import Config, EvaluationSettings, Risk, json_schema

__all__ = ["Config", "EvaluationSettings", "Risk", "json_schema", "load", "parse", "variant"]
