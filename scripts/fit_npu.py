"""Fits machine files of the npu target to published speeds, and tells how far all published speeds are from the simulated ones.

From the root of the tree, after a build. What is published: scripts/published_npu/rows.json. Writes the machine files
compiler/target/npu/machines/*.published.json and the tables of docs/npu_published.md. Five minutes, --check two.
"""
import argparse
import json
import pathlib
import sys
import tempfile

from published_npu import least_squares, machine_file, table
from published_npu.simulation import Simulator

PUBLISHED = json.loads((pathlib.Path(__file__).parent / "published_npu/rows.json").read_text())
CHIPS, ROWS = PUBLISHED["chips"], PUBLISHED["rows"]
FIRST_START_NS = 100000  # where a fit begins: the built-in machines have 0, which tells no slope
MOST_MEAN_ERROR = 0.10
TOLERANCE = 0.01  # between a simulated speed and the page: small changes of the compiler ask for no new fit


def fit(chip, simulator, folder):
    """The constants of a chip for which its fit rows take the time that is published."""
    rows = [row for row in ROWS if row["chip"] == chip and row["use"] == "fit"]
    about = CHIPS[chip]
    trial = folder / f"{chip}.json"

    def whole(constants):
        return {path: round(value) for path, value in constants.items()}

    def times(constants):
        trial.write_text(machine_file.text_of(chip, about["stands_for"], whole(constants)))
        return [1 / simulator.value(row, about["weights"], trial) for row in rows]

    def report(constants, errors):
        print(f"{chip}: {whole(constants)}, errors of the times {', '.join(f'{100 * e:+.2f} %' for e in errors)}", file=sys.stderr)

    start = {path: value or FIRST_START_NS for path, value in machine_file.built_in_of(chip, about["fitted"]).items()}
    found = whole(least_squares.fit(times, start, [1 / row["published"] for row in rows], report))
    machine_file.path_of(chip).write_text(machine_file.text_of(chip, about["stands_for"], found))


def simulate(simulator):
    """The column "simulated", with the machine files as they are."""
    return [table.number(simulator.value(row, CHIPS[row["chip"]]["weights"], machine_file.path_of(row["chip"]))) for row in ROWS]


def text_of(simulated):
    """The tables, with the machine files as they are."""
    constants = {chip: machine_file.constants_of(chip, about["fitted"]) for chip, about in CHIPS.items()}
    built_in = {chip: machine_file.built_in_of(chip, about["fitted"]) for chip, about in CHIPS.items()}
    return table.text_of(ROWS, constants, built_in, simulated)


def problems_of(simulated):
    """What the figures break of what the page promises."""
    mean = table.mean_error(ROWS, simulated)
    if mean > MOST_MEAN_ERROR:
        yield f"the mean error of the check rows is {100 * mean:.1f} %, expected at most {100 * MOST_MEAN_ERROR:.0f} %"
    for row, value in zip(ROWS, simulated):
        if row["use"] == "bound" and float(value) < row["published"]:
            yield f"{table.head(row)}: simulated is {value}, expected at least the published speed"


def stale_of(simulated):
    """Where the committed files are not what this script would write."""
    for chip, about in CHIPS.items():
        constants = machine_file.constants_of(chip, about["fitted"])
        if machine_file.path_of(chip).read_text() != machine_file.text_of(chip, about["stands_for"], constants):
            yield f"{machine_file.path_of(chip)} is not the built-in file with fitted values"
    on_page = table.simulated_on_page(ROWS)
    for row, value, told in zip(ROWS, simulated, on_page):
        if told is None:
            yield f"{table.PAGE} has no row {table.head(row)}"
        elif abs(float(told) / float(value) - 1) > TOLERANCE:
            yield f"{table.PAGE}: {table.head(row)} says {told}, simulated is {value}"
    if None not in on_page and table.on_page()[1] != text_of(on_page):
        yield f"{table.PAGE}: the tables are not as this script writes them"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--firn", default="build/release/bin/firn", help="the program (default: %(default)s)")
    parser.add_argument("--check", action="store_true", help="fit and write nothing; fail when the committed files are not what comes out")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON, not as the tables")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        simulator = Simulator(options.firn, PUBLISHED["models"], folder)
        if not options.check:
            for chip in CHIPS:
                fit(chip, simulator, pathlib.Path(folder))
        simulated = simulate(simulator)
    if options.json:
        print(json.dumps([{**row, "simulated": float(value)} for row, value in zip(ROWS, simulated)]))
    else:
        print(text_of(simulated), end="")
    problems = [*problems_of(simulated), *(stale_of(simulated) if options.check else [])]
    if not options.check:
        table.write(text_of(simulated))
    for problem in problems:
        print(f"fit_npu: {problem}", file=sys.stderr)
    if problems and options.check:
        print("fit_npu: run scripts/fit_npu.py and look at what has changed", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
