# SPDX-License-Identifier: BSD-3-Clause
"""Numbers of ranks and their factors."""

from collections.abc import Iterator

from pillion.errors import Error

Triple = tuple[int, int, int]

MOST_RANKS = 2**31 - 1  # an int of MPI


def checked_ranks(number: int, what: str = "ranks") -> int:
    """The number itself; raises Error if no run could have so many ranks."""
    if not 1 <= number <= MOST_RANKS:
        raise Error(f"{number} {what}: give a number from 1 to {MOST_RANKS}")
    return number


def prime_factors(number: int) -> dict[int, int]:
    """How often each prime divides a number ≥ 1, in increasing order of primes."""
    found: dict[int, int] = {}
    prime = 2
    while prime * prime <= number:
        while number % prime == 0:
            found[prime] = found.get(prime, 0) + 1
            number //= prime
        prime += 1
    if number > 1:
        found[number] = found.get(number, 0) + 1
    return found


def divisors(number: int) -> list[int]:
    """All divisors of a number ≥ 1, in increasing order."""
    found = [1]
    for prime, times in prime_factors(number).items():
        found = [d * prime**n for d in found for n in range(times + 1)]
    return sorted(found)


def triples(number: int) -> Iterator[Triple]:
    """All ordered triples (x, y, z) of numbers ≥ 1 whose product is this number."""
    whole = divisors(number)
    for x in whole:
        rest = number // x
        for y in whole:
            if y > rest:
                break
            if rest % y == 0:
                yield x, y, rest // y


def is_spread(triple: Triple, multiplicity: int) -> bool:
    """Whether as many dimensions are above one as a number of so many prime factors allows."""
    return sum(d > 1 for d in triple) == min(3, multiplicity)
