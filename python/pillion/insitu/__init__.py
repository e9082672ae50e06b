# SPDX-License-Identifier: BSD-3-Clause
"""Python during a run: sessions of simulations, and stages that work on the shared fields."""
