# SPDX-License-Identifier: BSD-3-Clause
"""Where analyses are best done: short runs of the user's own program (probes, trials, trails) tell
what steps and stages cost on how many ranks (scaling, costs); a model of two sides (pipeline,
model) says from that what a step takes wherever the analyses run; and advice is made of it.
"""
