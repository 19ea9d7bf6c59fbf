"""The whole matrix: programs of tests/sass/programs, architectures and options, against their definitions.

    python -m tests.sass.matrix [--files groups,warps] [--arch 75,90] [--options optimised] [--seconds 900]

One line of each run that is wrong, and one of counts. A combination is what `test_programs` makes of it, which runs a
part of them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from tests.sass.programs import PROGRAMS
from tests.sass.test_programs import ARCHITECTURES, OPTIONS, test_the_results_are_those_of_the_definition


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", default="", help="of programs (all)")
    parser.add_argument("--arch", default=",".join(map(str, ARCHITECTURES)))
    parser.add_argument("--options", default=",".join(OPTIONS))
    parser.add_argument("--seconds", type=float, default=36000)
    args = parser.parse_args()
    files, begin = args.files.split(",") if args.files else [], time.monotonic()
    counts: Counter[str] = Counter()
    for arch in map(int, args.arch.split(",")):
        for option in args.options.split(","):
            for program in PROGRAMS.values():
                if program.least > arch or (files and program.file.removesuffix(".cu") not in files):
                    continue
                if time.monotonic() - begin > args.seconds:
                    counts["not run"] += 1
                    continue
                try:
                    test_the_results_are_those_of_the_definition(program, arch, option)
                    counts["refused as foreseen" if program.refused else "right"] += 1
                except BaseException as error:  # what pytest raises is no Exception
                    if isinstance(error, KeyboardInterrupt):
                        raise
                    counts["wrong"] += 1
                    told = str(error).strip().partition("\n")[0]
                    sys.stdout.write(f"{program.name} sm_{arch} {option}: {type(error).__name__}: {told}\n")
                    sys.stdout.flush()
            sys.stdout.write(f"sm_{arch} {option}: {dict(counts)} in {time.monotonic() - begin:.0f} s\n")
            sys.stdout.flush()
    sys.exit(bool(counts["wrong"]))


if __name__ == "__main__":
    main()
