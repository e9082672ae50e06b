# SPDX-License-Identifier: BSD-3-Clause
"""Starting a simulation with its sidecars: what to start (plan, wanted), what is there to start it
with (facts), the processes (job), what is shown meanwhile (line), and what is said at the end
(ending).
"""
