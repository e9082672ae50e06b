# SPDX-License-Identifier: BSD-3-Clause
"""A display in memory on which ParaView draws where there is no other."""

import ctypes
import os
import signal
import subprocess


def start(program):
    """Starts a display in memory, with a free number, which ends with this process. No other
    user can draw on it or read it.
    """
    kind, cookie = b"MIT-MAGIC-COOKIE-1", os.urandom(16)
    key = os.memfd_create("pillion-display", 0)
    # For any host and display (Xau's FamilyWild): two empty texts, the kind, and the cookie.
    for part in (b"\xff\xff", b"\0\0", b"\0\0", b"\0\x12" + kind, b"\0\x10" + cookie):
        os.write(key, part)
    path = f"/proc/{os.getpid()}/fd/{key}"
    told, tell = os.pipe()
    # Without -noreset it starts again when its last client leaves, and ParaView, which opens and
    # closes displays to see what they can do, may knock just then.
    words = ["-screen", "0", "1280x1024x24", "-noreset", "-nolisten", "tcp", "-auth", path]
    # If several servers start at once, they try the same numbers, and report those in use.
    complaints = os.memfd_create("pillion-display-log")
    subprocess.Popen(
        [program, "-displayfd", str(tell), *words],
        pass_fds=[tell],
        stderr=complaints,
        preexec_fn=end_with_parent,
    )
    os.close(tell)
    with os.fdopen(told) as file:
        number = file.readline().strip()
    if not number:
        os.lseek(complaints, 0, os.SEEK_SET)
        said = os.read(complaints, 4096).decode(errors="replace")
        raise RuntimeError(f"{program} has ended: {said.strip()}")
    os.close(complaints)
    os.environ.update(DISPLAY=f":{number}", XAUTHORITY=path)


def end_with_parent():
    set_signal_of_parents_death = 1
    ctypes.CDLL(None).prctl(set_signal_of_parents_death, signal.SIGTERM)
