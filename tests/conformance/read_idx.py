# SPDX-License-Identifier: BSD-3-Clause
"""Reads what is asked for from an IDX dataset with OpenVisus, in a process of its own.

read_idx.py DATASET.idx RESULT.npz '[[FIELD, STEP, LEVEL], …]'
"""

import json
import sys

import numpy as np
import OpenVisus

dataset = OpenVisus.LoadDataset(sys.argv[1])
arrays = {}
for number, (field, step, level) in enumerate(json.loads(sys.argv[3])):
    arrays[str(number)] = dataset.read(field=field, time=step, max_resolution=level)
np.savez(sys.argv[2], **arrays)
