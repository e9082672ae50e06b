# SPDX-License-Identifier: BSD-3-Clause
"""`pillion watch RUN`: a live view of a run in the terminal. Progress files become a view (model),
tables become small curves (curves), and both are drawn (draw). docs/howto-run.md shows it.
"""
