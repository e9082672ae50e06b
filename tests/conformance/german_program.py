# SPDX-License-Identifier: BSD-3-Clause
"""A simulation in Python for test_host.py: german_program.py CONFIGURATION [unusual]. An unusual
one speaks German, has NumPy raise, and traps floating-point exceptions in the processor."""

import ctypes
import locale
import sys

import numpy as np
import pillion

values = np.linspace(0.5, 1.5, 16**3).reshape(16, 16, 16)
values[3, 4, 5], values[4, 5, 6], values[5, 6, 7] = np.nan, np.inf, 1e300
libm = ctypes.CDLL("libm.so.6")
TRAPPED = 0x01 | 0x04 | 0x08  # invalid, division by zero, overflow, on x86
unusual = len(sys.argv) > 2
if unusual:
    locale.setlocale(locale.LC_ALL, "")
    assert locale.localeconv()["decimal_point"] == ","
    np.seterr(all="raise")
session = pillion.open(sys.argv[1])
session.share("density", values)
for step in range(4):
    if unusual:
        assert libm.feenableexcept(TRAPPED) != -1
    session.step(step, 0.5 * step)
    if unusual:
        assert libm.fedisableexcept(TRAPPED) & TRAPPED == TRAPPED
session.close()
assert np.geterr()["invalid"] == ("raise" if unusual else "warn")
assert not unusual or locale.localeconv()["decimal_point"] == ","
print("solver ended well")
