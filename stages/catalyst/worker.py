# SPDX-License-Identifier: BSD-3-Clause
"""ParaView's side of the stage `catalyst`, run by ParaView's own Python in a separate process. It
runs the user's Catalyst script on the dataset of each message. Messages are lines of JSON, as are
answers. It ends when the sender has closed its pipe.

    python3 -c … FD_OF_MESSAGES FD_OF_ANSWERS SCRIPT CHANNEL [Xvfb]
"""

import json
import os
import select
import signal
import sys
import threading
import time
import traceback

import numpy as np
from pillion_catalyst import display
from pillion_catalyst.pipeline import Pipeline


def end_with_sender(messages):
    """Waits for the end of the sender, then kills a script that still runs, with its children."""
    gone = select.poll()
    gone.register(messages, 0)
    gone.poll()
    time.sleep(10)
    os.killpg(0, signal.SIGKILL)


def main():
    messages, answers = (
        os.fdopen(int(sys.argv[1]), encoding="utf-8"),
        os.fdopen(int(sys.argv[2]), "w", encoding="utf-8"),
    )
    script, channel = sys.argv[3:5]

    def answer(error=""):
        answers.write(json.dumps(error) + "\n")
        answers.flush()

    try:
        if len(sys.argv) > 5:
            display.start(sys.argv[5])
        threading.Thread(target=end_with_sender, args=[messages.fileno()], daemon=True).start()
        pipeline = Pipeline(script, channel)
        answer()
    except BaseException as error:
        answer(f"{type(error).__name__}: {error}")
        raise
    for line in messages:
        try:
            message = json.loads(line)
            pipeline.execute(message, np.fromfile(message["file"]))
            answer()
        except BaseException as error:
            traceback.print_exc()
            answer(f"{type(error).__name__}: {error}")
    pipeline.finalize()
