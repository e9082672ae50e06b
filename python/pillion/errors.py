# SPDX-License-Identifier: BSD-3-Clause
"""The one exception that this package raises for what its user can put right.

Its message says what failed, the value seen, and what to do. Anything else that is raised is a
defect of the package.
"""


class Error(Exception):
    """A file that is missing or is not what it should be."""
