# SPDX-License-Identifier: BSD-3-Clause
"""Units and quantities as people read them: superscripts for plots and pages, seconds and bytes in
a size that suits, and diffusion coefficients in the unit that the literature uses.

Units are free text such as "Å^2/fs" or "kg m^-3": an exponent follows a caret.
"""

import html
import re

_EXPONENT = re.compile(r"\^\(?([-+]?\d+(?:[./]\d+)?)\)?")
_METRES = {"Å": 1e-10, "angstrom": 1e-10, "nm": 1e-9, "um": 1e-6, "µm": 1e-6, "mm": 1e-3}
_METRES |= {"cm": 1e-2, "m": 1.0, "bohr": 5.29177210903e-11, "pm": 1e-12}
_SECONDS = {"fs": 1e-15, "ps": 1e-12, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


def as_math(units: str) -> str:
    """Units as Matplotlib text with superscripts."""
    plain = units.replace("$", r"\$").replace("*", "·")
    return _EXPONENT.sub(lambda match: f"$^{{{match[1]}}}$", plain)


def as_html(units: str) -> str:
    """Units as HTML with superscripts."""
    return _EXPONENT.sub(
        lambda match: f"<sup>{match[1].replace('-', '−')}</sup>",
        html.escape(units).replace("*", "·"),
    )


def diffusion_in_si(value: float, units: str) -> float | None:
    """A diffusion coefficient in 1e-9 m²/s; None unless the units are a length squared per time."""
    match = re.fullmatch(r"\s*(\S+?)\^2\s*/\s*(\S+)\s*", units)
    if not match or match[1] not in _METRES or match[2] not in _SECONDS:
        return None
    return value * _METRES[match[1]] ** 2 / _SECONDS[match[2]] * 1e9


def number(value: float | str, digits: int = 4) -> str:
    """A number with `digits` digits as HTML; texts are escaped."""
    if isinstance(value, str):
        return html.escape(value)
    small = value != 0 and abs(value) < 1e-3
    text = f"{value:.{digits - 1}e}" if small else f"{value:.{digits}g}"
    mantissa, _, exponent = text.partition("e")
    if small:
        mantissa = mantissa.rstrip("0").rstrip(".")
    text = mantissa.replace("-", "−")
    if not exponent:
        return text
    return f"{text}×10<sup>{str(int(exponent)).replace('-', '−')}</sup>"


def moment(step: int, time: float, time_units: str) -> str:
    """The name of a step in a legend: its redshift if the time units allow that, or its number."""
    if time_units == "scale factor" and time > 0:
        return f"z = {abs(1 / time - 1):.3g}"
    return f"z = {time:.3g}" if time_units == "redshift" else f"step {step}"


def count(value: int) -> str:
    """An integer with thin spaces between thousands."""
    return f"{value:,}".replace(",", "\u202f")


def seconds(value: float) -> str:
    """A duration in three digits."""
    if value == 0:
        return "0"
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms"), (600.0, 1.0, "s")):
        if abs(value) < limit:
            return f"{value * factor:.3g} {unit}"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def size(value: int) -> str:
    """Bytes in binary units."""
    amount = float(value)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(amount) < 1024:
            return f"{amount:.4g} {unit}"
        amount /= 1024
    return f"{amount:.4g} TiB"


def percent(part: float, whole: float) -> str:
    """A share in percent; "" if the whole is nothing."""
    if whole <= 0:
        return ""
    share = 100 * part / whole
    return "< 0.01 %" if 0 < share < 0.01 else f"{share:.3g} %"
