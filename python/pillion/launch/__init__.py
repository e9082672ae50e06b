# SPDX-License-Identifier: BSD-3-Clause
"""Starts a simulation with its sidecars. `wanted` reads the configuration, `facts` the machine, and
`allocation` and `slurm` the batch job. `plan` and `launchers` make command lines, `job` starts the
processes, `line` shows their progress, and `ending` the result. `batch` writes batch scripts.
"""
