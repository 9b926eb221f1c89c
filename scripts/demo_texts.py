"""Write the demo's sentences to a file, one a line, and print the folder of its model."""

import sys
from pathlib import Path

from holdfast.data import demo_examples, demo_model_path


def main() -> None:
    """Write the first sentences of the demo to the file named on the command line."""
    _, examples = demo_examples()
    file = Path(sys.argv[1])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{example.texts[0]}\n" for example in examples[:64]), "utf-8")
    print(demo_model_path())


if __name__ == "__main__":
    main()
