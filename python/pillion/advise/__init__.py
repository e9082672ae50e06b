# SPDX-License-Identifier: BSD-3-Clause
"""Where analyses are best done: short runs of the user's own program leave traces (short_runs,
trace), which say what steps and stages cost on how many ranks (costs). A model of two sides (model)
predicts from that what a step takes wherever the analyses run (placement), and advice is made of
the predictions (advice, picture).
"""
