# SPDX-License-Identifier: BSD-3-Clause
"""`pillion replay`: reads fields from files and offers them to the analyses of a configuration, as
the simulation would have done. To Pillion it is a simulation like any other. All ranks of its MPI
job run this; if the configuration has sidecars, some of them become these.
"""
