# SPDX-License-Identifier: BSD-3-Clause
"""`python -m pillion` is the command `pillion`, for when it is not on the path."""

import sys

from pillion.command import main

sys.exit(main())
