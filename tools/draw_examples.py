"""Run the examples of the gallery without a window, and save their figures.

    python tools/draw_examples.py FOLDER [example ...]

The default is all of examples/. Figures are saved as FOLDER/name.png, name_2.png and so on. The
time of each example is printed.
"""

from __future__ import annotations

import runpy
import sys
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

EXAMPLES = Path(__file__).parent.parent / "examples"


def main(folder: Path, examples: list[Path]) -> None:
    """Run the examples and save their figures."""
    folder.mkdir(parents=True, exist_ok=True)
    for example in examples:
        start = time.perf_counter()
        plt.show = lambda: None  # no window
        runpy.run_path(str(example), run_name="__main__")
        seconds = time.perf_counter() - start
        name = example.stem.removeprefix("plot_")
        for number in plt.get_fignums():
            part = "" if number == 1 else f"_{number}"
            plt.figure(number).savefig(folder / f"{name}{part}.png", dpi=100)
        plt.close("all")
        print(f"drew {folder / name}.png ({seconds:.1f} s)\n", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), [Path(p) for p in sys.argv[2:]] or sorted(EXAMPLES.glob("plot_*.py")))
