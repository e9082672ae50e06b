# SPDX-License-Identifier: BSD-3-Clause
"""The page of a finished run, `pillion.make_report`. run reads the run's reports, plots and planes
choose the plots, draw and timeline draw them, and sections, results and page make the HTML.

Nothing is imported here: reading a report does not need the libraries that draw.
"""
