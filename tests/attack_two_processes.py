"""What each of two processes does in the distributed attack; torch's own launcher starts them."""

import signal

from holdfast import cli


def main(argv: list[str]) -> None:
    signal.alarm(240)  # a first process that waits for nothing ends here
    assert cli.main(argv) == 0
