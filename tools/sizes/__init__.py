# SPDX-License-Identifier: BSD-3-Clause
"""Measures of the source code, for tools/check_sizes.py."""
