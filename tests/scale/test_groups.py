"""A container's share of a machine is what there is, in both versions of control groups."""

from __future__ import annotations

from pathlib import Path

import pytest

from rars.scale import cores, groups, memory

GB = 1 << 30


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A system whose groups are these lines and files."""
    monkeypatch.setattr(groups, "ROOT", tmp_path / "fs")
    monkeypatch.setattr(groups, "OWN", tmp_path / "own")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)

    def made(own, **files):
        (tmp_path / "own").write_text(own)
        for name, text in files.items():
            path = tmp_path / "fs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return made


def two(folder="", cpu="max 100000", most="max", used="0", stat=""):
    """The files of a group of the second version."""
    at = f"{folder}/" if folder else ""
    names = ("cpu.max", "memory.max", "memory.current", "memory.stat")
    return {f"{at}{name}": text for name, text in zip(names, (cpu, most, used, stat), strict=True)}


def test_without_groups_there_is_no_limit(system):
    assert groups.processors() is None
    assert groups.memory_left() is None


def test_without_a_limit_there_is_none(system):
    system("0::/a/b\n", **two("a/b"), **two("a"))
    assert groups.processors() is None
    assert groups.memory_left() is None


def test_the_tightest_group_above_counts(system):
    system(
        "0::/pod/box\n",
        **two("pod/box", "400000 100000", str(8 * GB), str(2 * GB)),
        **two("pod", "150000 100000", str(6 * GB), str(3 * GB)),
    )
    assert groups.processors() == 1.5
    assert groups.memory_left() == 3 * GB


def test_a_container_that_sees_its_own_group_as_the_root(system):
    system("0::/kubepods/unseen\n", **two("", "200000 100000", str(GB), str(GB // 4)))
    assert groups.processors() == 2.0
    assert groups.memory_left() == 3 * GB // 4


def test_files_that_can_be_dropped_are_no_memory_in_use(system):
    stat = f"anon {GB}\ninactive_file {2 * GB}\n"
    system("0::/\n", **two("", most=str(4 * GB), used=str(3 * GB), stat=stat))
    assert groups.memory_left() == 3 * GB


def test_the_first_version_has_a_folder_for_each_kind(system):
    system(
        "5:memory:/box\n4:cpu,cpuacct:/box\n1:name=systemd:/\n0::/\n",
        **{
            "cpu,cpuacct/box/cpu.cfs_quota_us": "250000",
            "cpu,cpuacct/box/cpu.cfs_period_us": "100000",
            "cpu,cpuacct/cpu.cfs_quota_us": "-1",
            "cpu,cpuacct/cpu.cfs_period_us": "100000",
            "memory/box/memory.limit_in_bytes": str(2 * GB),
            "memory/box/memory.usage_in_bytes": str(GB),
            "memory/box/memory.stat": f"inactive_file 5\ntotal_inactive_file {GB // 2}\n",
        },
    )
    assert groups.processors() == 2.5
    assert groups.memory_left() == 2 * GB - GB // 2


def test_files_of_nonsense_are_no_limit(system):
    system("0::/\nnonsense\n", **two("", "--5 few", "some", "all", "?"))
    assert groups.processors() is None
    assert groups.memory_left() is None


@pytest.mark.parametrize(("share", "expected"), [(None, 8), (2.0, 2), (3.9, 3), (0.5, 1), (99, 8)])
def test_cores_are_those_whose_time_there_is(monkeypatch, share, expected):
    monkeypatch.setattr(cores, "present", lambda: 8)
    monkeypatch.setattr(groups, "processors", lambda: share)
    assert cores.usable_cores() == expected


@pytest.mark.parametrize(("others", "expected"), [(0.0, 2), (5.0, 2), (6.6, 1), (30.0, 1)])
def test_others_on_the_machine_take_its_cores_first_not_ours(monkeypatch, others, expected):
    """Two of eight are ours: those who use the other six do not hinder us."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(cores, "present", lambda: 8)
    monkeypatch.setattr(groups, "processors", lambda: 2.0)
    assert cores.free(lambda: others) == expected


def test_memory_is_what_both_the_machine_and_the_group_have(monkeypatch):
    monkeypatch.setattr(groups, "memory_left", lambda: 1000)
    assert memory.available() == 1000
    monkeypatch.setattr(groups, "memory_left", lambda: 1 << 62)
    assert (memory.available() or 0) < 1 << 62 or not Path("/proc/meminfo").exists()
