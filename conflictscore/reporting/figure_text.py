"""Formats figures as text. A missing figure is shown as ``none`` or ``unknown``, never as 0."""

from collections.abc import Sequence

from conflictscore.reporting.terminal import printable

NONE = "none"


def percent(share: float | None) -> str:
    """Return a proportion from 0 to 1 as a percentage without the sign, such as ``78.7``."""
    return NONE if share is None else f"{100 * share:.1f}"


def published(share: float) -> str:
    """Return a published proportion as a percentage, with all its digits: ``78.7``, ``84.21``."""
    return f"{100 * share:.2f}".removesuffix("0")


def points(difference: float | None) -> str:
    """Return a difference of two proportions, in percentage points with a sign."""
    # adding 0.0 turns -0.0 into 0.0; "-0.0" would look like a loss
    return NONE if difference is None else f"{round(100 * difference, 1) + 0.0:+.1f}"


def span(low: str, high: str) -> str:
    """Return an interval as text, or ``none`` if a bound is missing."""
    return NONE if NONE in (low, high) else f"{low} to {high}"


def in_brackets(low: str, high: str) -> str:
    """Return an interval in brackets after a space; an empty string if a bound is missing."""
    return "" if NONE in (low, high) else f" ({span(low, high)})"


def p_value(p: float | None) -> str:
    """Return a p value to three decimal places; ``<0.001`` if it is smaller, as is usual."""
    if p is None:
        return NONE
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def money(dollars: float | None, unknown: Sequence[str] = ()) -> str:
    """Return an amount in US dollars, or "unknown". An amount below ten cents has four decimals.

    The argument ``unknown`` lists the models whose price is missing.
    """
    if dollars is not None:
        # a positive amount must not be shown as zero
        if 0 < dollars < 0.0001:
            return "<$0.0001"
        return f"${dollars:.4f}" if 0 < dollars < 0.1 else f"${dollars:,.2f}"
    names = ", ".join(map(one_line, unknown))
    return f"unknown (no price for {names})" if names else "unknown"


def seconds(duration: float) -> str:
    """Return a duration as ``12 s``, ``3 min 05 s`` or ``1 h 02 min``."""
    whole = round(duration)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60:02d} min"


def counted(number: int, noun: str) -> str:
    """Return a number and a noun; the noun gets an "s" unless the number is 1."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def one_line(value: object, limit: int = 200) -> str:
    """Return untrusted text on one line, without control characters and shortened to ``limit``.

    The default of 200 characters, chosen by hand, is room for a name or a short message.
    """
    text = " ".join(printable(value).split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
