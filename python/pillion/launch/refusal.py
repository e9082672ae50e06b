# SPDX-License-Identifier: BSD-3-Clause
"""Whether what `pillion check` has found is reason enough not to start. Programs may offer fields
and set parameters that a configuration does not have; what is missing may be theirs. Pure.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

_MAY_BE_THE_PROGRAMS = re.compile(r"unknown (field|mesh) '")
_MAY_BE_SET = re.compile(r"parameter '\$[^']*' has no value")


def certain(mistakes: Sequence[Mapping[str, Any]], has_fields: bool) -> list[str]:
    """Messages of mistakes that no program can make good. `has_fields` says whether the
    configuration has a catalogue of its own, so that a field that is not in it is a slip.
    """
    messages = [str(mistake["message"]) for mistake in mistakes]
    return [
        message
        for message in messages
        if not _MAY_BE_SET.search(message)
        and (has_fields or not _MAY_BE_THE_PROGRAMS.search(message))
    ]
