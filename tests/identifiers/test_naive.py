from __future__ import annotations

import numpy as np
import pytest

from rars.errors import RarsError
from rars.identifiers.naive import RandomDigits


@pytest.mark.parametrize("digits", [1, 2, 3, 4, 5])
def test_all_numbers_of_so_many_digits_come_exactly_once(digits):
    codes = RandomDigits(digits, seed=9).number(np.arange(10**digits))
    values = codes @ 10 ** np.arange(digits - 1, -1, -1)
    assert sorted(values.tolist()) == list(range(10**digits))


def test_neighbours_in_the_catalogue_get_unrelated_numbers():
    codes = RandomDigits(6, seed=1).number(np.arange(5000))
    for column in codes.T:
        counts = np.bincount(column, minlength=10)
        assert counts.min() > 400, "every digit is about as frequent at every place"
    same_first_digit = (codes[1:, 0] == codes[:-1, 0]).mean()
    assert 0.05 < same_first_digit < 0.15


def test_the_seed_decides():
    rows = np.arange(100)
    one = RandomDigits(4, seed=1).number(rows)
    assert np.array_equal(one, RandomDigits(4, seed=1).number(rows))
    assert not np.array_equal(one, RandomDigits(4, seed=2).number(rows))


@pytest.mark.parametrize(
    ("items", "digits"), [(1, 1), (5, 1), (6, 2), (50, 2), (51, 3), (19406, 5)]
)
def test_there_is_room_for_the_catalogue_and_as_many_again(items, digits):
    chosen = RandomDigits.for_items(items, seed=0)
    assert chosen.digits == digits
    assert 10**chosen.digits >= 2 * items


def test_running_out_of_numbers_is_one_sentence():
    with pytest.raises(RarsError, match="used up"):
        RandomDigits(1, seed=0).number(np.arange(11))


def test_nothing_is_asked_of_vectors():
    digits = RandomDigits(2, seed=0)
    for call in (digits.encode, digits.project, digits.reconstruct):
        with pytest.raises(RarsError):
            call(np.zeros((1, 2)))
