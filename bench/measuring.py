"""One measured run of a program, and what else the machine did meanwhile."""
import os
import pathlib
import platform
import subprocess
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
TICKS = os.sysconf("SC_CLK_TCK")


def busy_seconds():
    """CPU time used by anybody since start, all CPUs: user nice system irq softirq steal (guest is part of user)."""
    with open("/proc/stat") as f:
        v = [int(x) for x in f.readline().split()[1:9]]
    return (v[0] + v[1] + v[2] + v[5] + v[6] + v[7]) / TICKS


def own_seconds():
    t = os.times()
    return t.user + t.system


def kernel_seconds():
    """CPU time of the kernel's own threads, which work for whoever reads and frees pages (children of number 2)."""
    ticks = 0
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        if fields[1] == "2":
            ticks += int(fields[11]) + int(fields[12])
    return ticks / TICKS


class Run:
    """status, standard output, share of the CPUs that others used, peak resident bytes, seconds"""

    def __init__(self, command):
        busy, own, kernel, begin = busy_seconds(), own_seconds(), kernel_seconds(), time.monotonic()
        child = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.text = child.stdout.read().decode()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = self.status = os.waitstatus_to_exitcode(status)
        self.seconds = time.monotonic() - begin
        others = (busy_seconds() - busy - (own_seconds() - own) - (kernel_seconds() - kernel)
                  - used.ru_utime - used.ru_stime)
        self.others = max(0.0, others) / (self.seconds * os.cpu_count())
        self.peak = used.ru_maxrss * 1024


def machine():
    cpu = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "?")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return "%s, %d CPUs, %.0f GiB, Linux %s" % (cpu, os.cpu_count(), memory, platform.release())


def physical_cores():
    cores = set()
    for cpu in pathlib.Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology"):
        cores.add(((cpu / "physical_package_id").read_text(), (cpu / "core_id").read_text()))
    return len(cores) or os.cpu_count()
