#!/usr/bin/env python3
"""Explores bounded models of the protocol in SPEC.md: every order of events, every content a power cut can
leave.

  protocol.py --ci              the bounds that fit three minutes; exit code 1 on any surprise
  protocol.py --long            larger bounds, for hours
  protocol.py core              one model (core, ring, map, spill, roots)
  protocol.py core own_run      one mutant of it, with the trace of its violation

Each model states the rules that it covers and carries mutants: protocols in which one rule is broken. A
surprise is a violation of the protocol as it is, or a mutant that is not caught."""

import argparse
import importlib
import sys

from explorer import MOST_STATES, explore

MODELS = {'core': 'core', 'ring': 'ring', 'map': 'map_twins', 'spill': 'spill', 'roots': 'roots'}


def run(name, model, expect_violation, seconds, most_states, show_trace=False):
    """Explores one model; returns whether it went as expected."""
    result = explore(model, seconds, most_states)
    found = result.trace is not None
    as_expected = found == expect_violation
    extent = '' if found else ', exhaustive' if result.exhaustive else ', NOT exhaustive'
    print(
        f'{"ok  " if as_expected else "FAIL"} {name}: {"violation" if found else "no violation"}; '
        f'{result.states} states, {result.transitions} transitions, depth {result.depth}, '
        f'{result.seconds:.1f} s{extent}',
        flush=True,
    )
    if found and (show_trace or not as_expected):
        for number, step in enumerate(result.trace, 1):
            print(f'       {number}. {step}')
    return as_expected


def run_model(word, options):
    """The protocol as it is within each of the model's bounds, then each mutant."""
    module = importlib.import_module(MODELS[word])
    good = True
    if not options.mutant:
        bounds = module.BASE + (module.LONG if options.long else [])
        for what, counts in bounds:
            good &= run(
                f'{word}, {what}', module.Model(None, **counts), False, options.seconds, options.states
            )
    mutants = [options.mutant] if options.mutant else module.MUTANTS
    for mutant in mutants:
        model = module.Model(mutant, **module.BOUNDS.get(mutant, {}))
        name = f'{word} mutant {mutant} ({module.MUTANTS[mutant]})'
        good &= run(name, model, True, options.seconds, options.states, show_trace=bool(options.mutant))
    return good


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('model', nargs='?', choices=sorted(MODELS))
    parser.add_argument('mutant', nargs='?')
    parser.add_argument('--ci', action='store_true', help='the default')
    parser.add_argument('--long', action='store_true')
    parser.add_argument('--seconds', type=float, help='at most so long for each run (60; with --long 1800)')
    parser.add_argument('--states', type=int, default=MOST_STATES, help='at most so many for each run')
    options = parser.parse_args()
    options.seconds = options.seconds or (1800 if options.long else 60)
    good = True
    for word in [options.model] if options.model else MODELS:
        good &= run_model(word, options)
    print('as expected' if good else 'SURPRISE: see the lines that begin with FAIL')
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
