"""Everything that can be chosen stands in the address."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

from hypothesis import given
from hypothesis import strategies as st

from rars.serving.page.address import VIEWS, Address
from rars.serving.schemas import MOST_K

text = st.text(max_size=20).map(str.strip)


@given(
    st.sampled_from(VIEWS),
    st.fixed_dictionaries({}, optional=dict.fromkeys(("q", "rule", "filter", "item"), text)),
    st.integers(1, MOST_K),
)
def test_an_address_is_read_as_it_was_written(view, chosen, k):
    here = Address(view, k=k, **chosen)
    parts = urlsplit(here.to())
    assert parts.path == ("/" if view == "search" else f"/{view}")
    assert Address.read(view, dict(parse_qsl(parts.query))) == here


def test_nonsense_is_left_out():
    odd = {"k": "-3", "q": " mug ", "nothing": "1"}
    assert Address.read("search", odd) == Address(q="mug")
    assert Address.read("search", {"k": "٣"}) == Address()
    assert Address.read("search", {"k": str(MOST_K + 1)}) == Address()
