# SPDX-License-Identifier: BSD-3-Clause
"""Publishes blocks of memory of the session without a copy, and prints the median time that the
calls of a step took this process, in seconds.

    many_blocks.py BLOCKS
"""

import statistics
import sys
import time

import pillion

blocks = int(sys.argv[1])
took = []
with pillion.open("run.yaml") as session:
    for b in range(blocks):
        session.allocate("density", (8,), (8 * b,), block=b, buffers=3)
    for step in range(12):
        begin = time.process_time()
        session.step(step, float(step))
        took.append(time.process_time() - begin)
        for b in range(blocks):
            session.swap("density", block=b)
        time.sleep(0.05)
    print(statistics.median(took[2:]))
