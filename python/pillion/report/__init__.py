# SPDX-License-Identifier: BSD-3-Clause
"""The page of a finished run, `pillion.make_report`: run reads what the run reports, plots and
planes choose what to plot, draw and timeline draw it, sections, results and page make HTML of it.

Nothing is imported here: reading a report needs none of what drawing needs.
"""
