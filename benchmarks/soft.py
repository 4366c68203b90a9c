"""Check that memberships are probabilities, and that thresholds hold for new rows.

    python benchmarks/soft.py                      # all sections; hours with all seeds
    python benchmarks/soft.py --quick              # two seeds and fewer cells, half an hour
    python benchmarks/soft.py given --quick        # some sections; --list names them
    python benchmarks/soft.py auto --seeds 1 --cells "two equal" "t(4)"
    python benchmarks/soft.py given --methods softkern.cluster "GMM, full"
    python benchmarks/soft.py --again              # after a change of the package
    python benchmarks/soft.py --processes 4        # results do not change, times do

given: memberships with the number of clusters given, compared with the true posterior. 500 rows are
fitted and 2,000 new ones judged. A slope of logit membership on logit posterior of one is calibrated,
below is too soft, above too hard; .8 to 1.25 is promised for models whose rows sum to one, where the
clusters were found. Each model is judged on the runs in which it finds them, which are easier ones for
a model that finds them rarely. Slopes of hard models (k-means, KernelSpectralClustering) and of
discs only reflect the clipping of logits. "Middle" slopes leave out rows with a posterior beyond .01
and .99. Memberships of PossibilisticCMeans and hdbscan are divided by their sum.

auto: the same with nothing given, and how often the number is right or too large. No cell has a
single cluster; see `defaults.py structureless` for these.

fresh: share of new rows that detectors call outliers at contamination = nu = 0.1. Promised are .08 to
.13 for normal data, .06 to .16 for real tables.

planted: how many of 50 planted outliers are flagged, and how many new rows are rejected then.

found: what a trial found, as a table: what was tried, before, now, wanted, and other libraries now.

False splits are in `defaults.py structureless`, AUROC of training rows in `defaults.py outliers`.

Every measurement is a line in a file of the folder `soft_results`, so that an interrupted run
continues. `--again` measures softkern again and keeps stored results of other libraries.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

from posteriors import Cell
from studies.command import chosen_sections, list_sections, show
from studies.found import found
from studies.memberships import ALL_AUTO, ALL_GIVEN, MODELS, OURS, QUICK, Setting, auto, given
from studies.stored import Store
from studies.thresholds import DETECTORS, fresh, planted
from studies.thresholds import OURS as OUR_DETECTORS

SECTIONS = {"given": given, "auto": auto, "fresh": fresh, "planted": planted, "found": found}
CELLS: dict[str, list[Cell]] = {"given": ALL_GIVEN, "auto": ALL_AUTO}
SEEDS, QUICK_SEEDS = 5, 2


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sections", nargs="*", help="some of the sections; all if none is named")
    parser.add_argument("--quick", action="store_true", help="two seeds, fewer cells")
    parser.add_argument("--seeds", type=int, help=f"draws of each cell (default: {SEEDS})")
    parser.add_argument("--cells", nargs="+", metavar="TEXT", help="cells whose name contains it")
    parser.add_argument("--columns", nargs="+", type=int, help="cells with so many columns")
    parser.add_argument("--methods", nargs="+", help="names of models as in the tables")
    parser.add_argument("--again", action="store_true", help="measure softkern again")
    parser.add_argument("--processes", type=int, default=1, help="parallel processes (default: 1)")
    parser.add_argument("--out", type=Path, default=Path("soft_results"), help="folder of results")
    parser.add_argument("--list", action="store_true", help="names of the sections")
    return parser


def cells_for(section: str, options: argparse.Namespace) -> list[Cell]:
    chosen = CELLS.get(section, [])
    if options.quick:
        chosen = [cell for cell in chosen if cell in QUICK]
    if options.cells:
        chosen = [cell for cell in chosen if any(text in cell[0] for text in options.cells)]
    if options.columns:
        chosen = [cell for cell in chosen if cell[1] in options.columns]
    return chosen


def main() -> None:
    command = parser()
    options = command.parse_args()
    if options.list:
        list_sections(SECTIONS)
        return
    names = chosen_sections(command, options.sections, SECTIONS)
    known = set(MODELS) | set(DETECTORS)
    unknown = set(options.methods or ()) - known
    if unknown:
        command.error(
            f"there is no method {', '.join(unknown)}. Choose from {', '.join(sorted(known))}"
        )
    warnings.simplefilter("ignore")  # collapse and convergence
    store = Store(options.out, options.processes)
    if options.again:
        store.forget(set(OURS) | set(OUR_DETECTORS))
    seeds = options.seeds or (QUICK_SEEDS if options.quick else SEEDS)
    for name in names:
        own = MODELS if name in CELLS else DETECTORS
        methods = [method for method in options.methods or () if method in own]
        setting = Setting(store, seeds, cells_for(name, options), methods, options.quick)
        show(name, SECTIONS[name], setting, options.out)


if __name__ == "__main__":
    main()
