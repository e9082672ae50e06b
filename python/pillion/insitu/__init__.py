# SPDX-License-Identifier: BSD-3-Clause
"""Python while a run goes on: sessions of simulations, and stages that work on what they share."""
