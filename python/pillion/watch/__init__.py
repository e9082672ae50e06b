# SPDX-License-Identifier: BSD-3-Clause
"""`pillion watch RUN`: a live view of a run in the terminal. What runs say of themselves becomes a
view (model), tables become small curves (curves), and both become what is drawn (draw).
docs/howto-run.md shows it.
"""
