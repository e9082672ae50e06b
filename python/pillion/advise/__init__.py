# SPDX-License-Identifier: BSD-3-Clause
"""Advice on where to run analyses. Short runs of the user's own program leave traces (short_runs,
trace), from which follows the cost of steps and stages on any number of ranks (costs). A model of
two sides (model) predicts the seconds a step for each placement (placement). The predictions become
advice (advice, picture).
"""
