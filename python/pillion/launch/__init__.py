# SPDX-License-Identifier: BSD-3-Clause
"""Starts a simulation with its sidecars: the configuration's wishes (wanted), the machine (facts),
the command lines (plan), the processes (job), the status line meanwhile (line), and the summary at
the end (ending).
"""
