"""A recipe is accepted or refused in a sentence, whatever it holds."""

from tests.hostile import recipes
from tests.hostile.case import hunt


def test_a_recipe_is_read_or_refused():
    assert hunt(recipes.cases, seconds=60, most=150)
