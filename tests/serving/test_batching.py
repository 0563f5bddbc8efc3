"""The queue: what is searched together, who is refused, and when beams become narrower."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from rars.serving.batching import Batcher, Job
from rars.serving.refusals import Refused
from rars.serving.settings import Settings
from tests.serving.running import awaited


class Watch:
    def __init__(self):
        self.refused = []

    def batched(self, queries, rows, seconds, *, narrow):
        pass

    def shed(self, reason):
        self.refused.append(reason)


class Slow:
    """Does batches one at a time; each waits until the test lets it go."""

    def __init__(self, *, held=False):
        self.batches = []
        self.go = threading.Event()
        self.begun = threading.Event()
        if not held:
            self.go.set()

    def __call__(self, target, asked, *, narrow):
        self.batches.append((target, list(asked), narrow))
        self.begun.set()
        assert self.go.wait(10)
        return [ValueError(one) if one == "bad" else f"{one}!" for one in asked]


def using(work, scenario, **given):
    """Run a scenario with a queue; what it returns, and what the queue refused."""
    watch = Watch()

    async def whole():
        batcher = Batcher(work, Settings(**{"wait_ms": 20, **given}), watch)
        batcher.start()
        try:
            return await scenario(batcher)
        finally:
            work.go.set()
            await asyncio.to_thread(batcher.stop)

    return awaited(whole()), watch.refused


def job(asked, target="a", rows=100, timeout=10.0, **more):
    return Job(target, asked, rows, timeout, **more)


async def outcomes(*waiting):
    found = await asyncio.gather(*waiting, return_exceptions=True)
    return [one if isinstance(one, Exception) else one[0] for one in found]


async def held_up(batcher, work):
    """Keep the thread busy with a first job."""
    first = asyncio.create_task(batcher.do(job("first")))
    await asyncio.to_thread(work.begun.wait, 10)
    return first


def test_what_waits_for_one_target_is_done_together_and_each_gets_its_own_result():
    work = Slow()

    async def scenario(batcher):
        return await outcomes(*(batcher.do(job(str(n))) for n in range(5)))

    found, _ = using(work, scenario)
    assert found == ["0!", "1!", "2!", "3!", "4!"]
    assert [batch for _, batch, _ in work.batches] == [["0", "1", "2", "3", "4"]]


def test_a_batch_stays_within_its_budget_of_rows_and_within_its_target():
    work = Slow(held=True)

    async def scenario(batcher):
        first = await held_up(batcher, work)
        rest = [
            asyncio.create_task(batcher.do(job(name, target, rows)))
            for name, target, rows in [
                ("1", "a", 100),
                ("2", "b", 100),
                ("3", "a", 150),
                ("4", "a", 100),
                ("wide", "a", 900),
            ]
        ]
        await asyncio.sleep(0.05)
        work.go.set()
        return await outcomes(first, *rest)

    found, _ = using(work, scenario, batch_rows=260)
    assert found == ["first!", "1!", "2!", "3!", "4!", "wide!"]
    taken = [(target, batch) for target, batch, _ in work.batches[1:]]
    assert taken == [("a", ["1", "3"]), ("b", ["2"]), ("a", ["4"]), ("a", ["wide"])]


def test_a_batch_is_no_larger_than_can_be_done_in_half_of_the_deadline():
    """A row takes a millisecond: of 600 that wait, 250 fit into half of half a second."""

    class Timed(Slow):
        def __call__(self, target, asked, *, narrow):
            time.sleep(0.1 * len(asked))
            return super().__call__(target, asked, narrow=narrow)

    work = Timed()

    async def scenario(batcher):
        for _ in range(3):
            await batcher.do(job("lone"))
        return await outcomes(*(batcher.do(job(str(n), timeout=60)) for n in range(6)))

    found, _ = using(work, scenario, deadline_ms=500, wait_ms=0)
    assert found == [f"{n}!" for n in range(6)]
    assert max(len(batch) for _, batch, _ in work.batches) <= 2


def test_an_answer_that_comes_too_late_is_none():
    work = Slow(held=True)

    async def scenario(batcher):
        slow = asyncio.create_task(batcher.do(job("slow", timeout=0.1)))
        await asyncio.to_thread(work.begun.wait, 10)
        await asyncio.sleep(0.2)
        work.go.set()
        return await outcomes(slow)

    [found], reasons = using(work, scenario)
    assert found.status == 429
    assert reasons == ["late"]


@pytest.mark.parametrize("crowded", [False, True])
def test_what_a_crowded_event_loop_takes_is_taken_off_the_deadline(crowded):
    """A request was due before the loop read it, and its answer leaves after the loop comes to it."""
    work = Slow(held=True)

    async def scenario(batcher):
        await asyncio.sleep(0.1)
        if crowded:
            time.sleep(1.5)
        slow = asyncio.create_task(batcher.do(job("slow", timeout=3.0)))
        await asyncio.to_thread(work.begun.wait, 10)
        await asyncio.sleep(1.7)
        work.go.set()
        return await outcomes(slow)

    [found], reasons = using(work, scenario)
    assert reasons == (["late"] if crowded else [])
    assert (found == "slow!") != crowded


def test_a_full_queue_refuses_and_says_when_to_come_again():
    work = Slow(held=True)

    async def scenario(batcher):
        first = await held_up(batcher, work)
        rest = [asyncio.create_task(batcher.do(job(str(n)))) for n in range(4)]
        await asyncio.sleep(0.05)
        with pytest.raises(Refused) as refused:
            batcher.check()
        assert refused.value.status == 429
        work.go.set()
        return await outcomes(first, *rest)

    found, reasons = using(work, scenario, queue_rows=300)
    refused = [one for one in found if isinstance(one, Refused)]
    assert [(one.status, one.retry_after) for one in refused] == [(429, 1)]
    assert reasons == ["queue", "door"]


def test_a_client_cannot_fill_the_queue():
    work = Slow(held=True)

    async def scenario(batcher):
        first = await held_up(batcher, work)
        greedy = [asyncio.create_task(batcher.do(job(str(n), client="x"))) for n in range(3)]
        other = asyncio.create_task(batcher.do(job("other", client="y")))
        await asyncio.sleep(0.05)
        work.go.set()
        return await outcomes(first, *greedy, other)

    found, reasons = using(work, scenario, client_limit=2)
    assert [isinstance(one, Refused) for one in found] == [False, False, False, True, False]
    assert reasons == ["client"]


def test_a_job_whose_time_is_over_is_refused_and_never_done():
    work = Slow(held=True)

    async def scenario(batcher):
        first = await held_up(batcher, work)
        late = asyncio.create_task(batcher.do(job("late", timeout=0.05)))
        good = asyncio.create_task(batcher.do(job("good")))
        await asyncio.sleep(0.2)
        work.go.set()
        return await outcomes(first, late, good)

    found, reasons = using(work, scenario)
    assert found[0::2] == ["first!", "good!"]
    assert found[1].status == 429
    assert reasons == ["deadline"]
    assert all("late" not in batch for _, batch, _ in work.batches)


def test_under_pressure_beams_are_narrower_and_afterwards_they_are_not():
    work = Slow(held=True)

    async def scenario(batcher):
        first = await held_up(batcher, work)
        rest = [asyncio.create_task(batcher.do(job(str(n)))) for n in range(6)]
        await asyncio.sleep(0.05)
        assert batcher.pressure == 0.6
        work.go.set()
        await outcomes(first, *rest)
        return await outcomes(batcher.do(job("after")))

    using(work, scenario, queue_rows=1_000, deadline_ms=600_000)
    assert [narrow for _, _, narrow in work.batches] == [False, True, False]


def test_what_is_in_the_background_waits_for_everybody_else():
    work = Slow(held=True)

    async def scenario(batcher):
        first = await held_up(batcher, work)
        rest = [
            asyncio.create_task(batcher.do(job("later", background=True))),
            asyncio.create_task(batcher.do(job("1"))),
        ]
        await asyncio.sleep(0.05)
        work.go.set()
        return await outcomes(first, *rest)

    using(work, scenario)
    assert [batch for _, batch, _ in work.batches] == [["first"], ["1"], ["later"]]


def test_an_error_of_one_is_its_own_and_an_error_of_all_ends_nothing():
    work = Slow()

    async def scenario(batcher):
        return await outcomes(batcher.do(job("bad")), batcher.do(job("good")))

    found, _ = using(work, scenario)
    assert isinstance(found[0], ValueError)
    assert found[1] == "good!"

    class Broken(Slow):
        def __call__(self, target, asked, *, narrow):
            super().__call__(target, asked, narrow=narrow)
            if "break" in asked:
                raise RuntimeError
            return asked

    async def twice(batcher):
        return [*await outcomes(batcher.do(job("break"))), *await outcomes(batcher.do(job("on")))]

    found, _ = using(Broken(), twice)
    assert isinstance(found[0], RuntimeError)
    assert found[1] == "on"


def test_a_stop_finishes_what_was_begun_and_refuses_what_waits():
    work = Slow(held=True)

    async def scenario(batcher):
        first = await held_up(batcher, work)
        waits = asyncio.create_task(batcher.do(job("waits")))
        await asyncio.sleep(0.05)
        stopping = asyncio.create_task(asyncio.to_thread(batcher.stop))
        await asyncio.sleep(0.05)
        with pytest.raises(Refused):
            await batcher.do(job("new"))
        work.go.set()
        await stopping
        return await outcomes(first, waits)

    found, _ = using(work, scenario)
    assert found[0] == "first!"
    assert found[1].status == 429


def test_a_client_that_goes_away_hinders_nobody():
    work = Slow(held=True)

    async def scenario(batcher):
        first = await held_up(batcher, work)
        gone = asyncio.create_task(batcher.do(job("gone")))
        stays = asyncio.create_task(batcher.do(job("stays")))
        await asyncio.sleep(0.05)
        gone.cancel()
        work.go.set()
        return await outcomes(first, stays)

    found, _ = using(work, scenario)
    assert found == ["first!", "stays!"]


def test_a_lone_query_waits_for_others_as_long_as_it_is_told():
    async def scenario(batcher):
        begun = time.perf_counter()
        await batcher.do(job("alone"))
        return time.perf_counter() - begun

    waited, _ = using(Slow(), scenario, wait_ms=100)
    assert waited >= 0.1
