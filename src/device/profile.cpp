#include "device/profile.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "base/bytes.h"

namespace ft {

namespace {

// Where x lies between two neighbours of a sorted list, on a logarithmic scale.
struct Between {
    size_t low = 0, high = 0;
    double share = 0;  // 0: at low, 1: at high
};

Between between(const std::vector<double>& points, double x) {
    if (x <= points.front()) return {0, 0, 0};
    for (size_t i = 1; i < points.size(); i++)
        if (x <= points[i])
            return {i - 1, i, std::log(x / points[i - 1]) / std::log(points[i] / points[i - 1])};
    return {points.size() - 1, points.size() - 1, 0};
}

constexpr double k_busy = 0.25;
constexpr int64_t k_try_again_seconds = 600;

double mix(double a, double b, double share) { return a + (b - a) * share; }

}  // namespace

double DriveProfile::gb_per_second(uint64_t read_bytes, double depth) const {
    if (rates.empty()) return 0;
    std::set<double> size_set, depth_set;
    for (const DriveRate& rate : rates) {
        size_set.insert(static_cast<double>(rate.read_bytes));
        depth_set.insert(rate.depth);
    }
    const std::vector<double> sizes(size_set.begin(), size_set.end()),
        depths(depth_set.begin(), depth_set.end());
    const Between s = between(sizes, static_cast<double>(std::max<uint64_t>(1, read_bytes)));
    const Between d = between(depths, std::max(1.0, depth));
    const auto at = [&](size_t i, size_t j) {
        for (const DriveRate& rate : rates)
            if (static_cast<double>(rate.read_bytes) == sizes[i] && rate.depth == depths[j])
                return rate.gb_per_second;
        return 0.0;
    };
    return mix(mix(at(s.low, d.low), at(s.low, d.high), d.share),
               mix(at(s.high, d.low), at(s.high, d.high), d.share), s.share);
}

double DriveProfile::best_gb_per_second() const {
    double best = 0;
    for (const DriveRate& rate : rates) best = std::max(best, rate.gb_per_second);
    return best;
}

// The middle of what was measured: each point of the grid takes a tenth of a second, and its best is luck.
double DriveProfile::streaming_gb_per_second() const {
    constexpr uint64_t k_long_read = 512 * k_kib;
    constexpr int k_several = 4;
    std::vector<double> fits;
    for (const DriveRate& rate : rates)
        if (rate.read_bytes >= k_long_read && rate.depth >= k_several) fits.push_back(rate.gb_per_second);
    if (fits.empty()) return best_gb_per_second();
    std::sort(fits.begin(), fits.end());
    return (fits[(fits.size() - 1) / 2] + fits[fits.size() / 2]) / 2;
}

bool MachineProfile::is_doubtful(int64_t now) const {
    return foreign_cpu > k_busy && now - measured_at > k_try_again_seconds;
}

MachineProfile with_threads(MachineProfile profile, int threads) {
    if (threads <= 0 || threads >= profile.physical_cores) return profile;
    const double share = static_cast<double>(threads) / profile.physical_cores;
    const double read =
        profile.cpu_read_gb_per_second > 0 ? profile.cpu_read_gb_per_second : profile.ram_read_gb_per_second;
    profile.cpu_read_gb_per_second = share * read;
    profile.cpu_gflops *= share;
    profile.physical_cores = threads;
    return profile;
}

}  // namespace ft
