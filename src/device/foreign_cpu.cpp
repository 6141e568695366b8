#include "device/foreign_cpu.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace ft {

namespace {

// Seconds that all processors together were not idle, from the first line of /proc/stat; -1 where there is
// none.
double busy_seconds() {
    std::ifstream stat("/proc/stat");
    std::string word;
    double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    if (!(stat >> word >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal) ||
        word != "cpu")
        return -1;
    return (user + nice + system + irq + softirq + steal) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double own_seconds() {
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
}

}  // namespace

ForeignCpu::ForeignCpu() : start_(now_seconds()), busy_(busy_seconds()), own_(own_seconds()) {}

double ForeignCpu::share() const {
    const double elapsed = now_seconds() - start_, busy = busy_seconds();
    if (elapsed < 0.25 || busy < 0 || busy_ < 0) return -1;
    const double all = elapsed * static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
    return std::clamp((busy - busy_ - (own_seconds() - own_)) / all, 0.0, 1.0);
}

}  // namespace ft
