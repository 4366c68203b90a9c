"""The memory that is available to a process, on simulated machines."""

import subprocess
import sys
from pathlib import Path

import pytest

from softkern._utils.memory import available_memory

GIB = 2**30


@pytest.fixture
def machine(tmp_path):
    write(tmp_path / "proc/meminfo", f"MemTotal: 1 kB\nMemAvailable:   {64 * 2**20} kB\n")
    return tmp_path


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(str(text))


def write_cgroup_v2(folder, limit, used, cached=0):
    write(folder / "memory.max", limit)
    write(folder / "memory.current", used)
    write(folder / "memory.stat", f"anon 5\ninactive_file {cached}\n")


def write_cgroup_v1(folder, limit, used, cached=0):
    write(folder / "memory.limit_in_bytes", limit)
    write(folder / "memory.usage_in_bytes", used)
    write(folder / "memory.stat", f"inactive_file 0\ntotal_inactive_file {cached}\n")


def test_no_container(machine):
    assert available_memory(machine) == 64 * GIB


def test_no_memory_is_available_beyond_the_limit(machine):
    write_cgroup_v2(machine / "sys/fs/cgroup", GIB, 2 * GIB)
    assert available_memory(machine) == 0


@pytest.mark.parametrize("tightest", ["", "a", "a/b"])
def test_the_tightest_of_nested_groups_counts(machine, tightest):
    top = machine / "sys/fs/cgroup"
    write(machine / "proc/self/cgroup", "0::/a/b\n")
    for group in ("", "a", "a/b"):
        write_cgroup_v2(top / group, "max" if group == "a" != tightest else 8 * GIB, GIB)
    write_cgroup_v2(top / tightest, 3 * GIB, GIB, cached=GIB // 2)
    assert available_memory(machine) == 2.5 * GIB


def test_containers_of_cgroup_version_1(machine):
    top = machine / "sys/fs/cgroup/memory"
    write(machine / "proc/self/cgroup", "3:cpu,cpuacct:/x\n2:memory:/job/step\n")
    write_cgroup_v1(top, 2**63 - 4096, 9 * GIB)
    write_cgroup_v1(top / "job", 5 * GIB, 2 * GIB, cached=GIB)
    write_cgroup_v1(top / "job/step", 2**63 - 4096, GIB)
    assert available_memory(machine) == 4 * GIB
    write(machine / "proc/self/cgroup", "2:memory:/seen/from/outside\n")
    write_cgroup_v1(top, 7 * GIB, GIB)
    assert available_memory(machine) == 6 * GIB


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have another limit")
def test_the_plan_respects_a_limit_of_the_address_space():
    code = """
import resource, sys
import softkern
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
for limit in (2**29, 2**34):
    resource.setrlimit(resource.RLIMIT_AS, (used + limit, -1))
    print(softkern.plan((20_000, 5)).chosen.engine)
"""
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, text=True
    )
    assert found.stdout.split() == ["tiled", "dense"], found.stderr


def test_available_memory_of_this_machine():
    assert 0 < available_memory(Path("/")) < 2**50
