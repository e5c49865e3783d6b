"""Multiply-imputed synthetic public-use files whose statistics can be trusted and whose people cannot be found."""

__version__ = "0.1.0"
