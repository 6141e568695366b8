// Speed of the matrix products of one kernel table on one thread, for every type.
//   decode/TYPE/K    one token; weights from memory (far more of them than any cache holds)
//   cached/TYPE/K    one token; 256 KiB of weights, from the second-level cache
//   prefill/TYPE/K/T T tokens against 768 rows
// Counters: GB/s of weights, GFLOP/s (2 per weight and token), and for decode the share of the read bandwidth
// that this program measures at its start. FREETOKEN_ISA chooses the table. Filter with
// --benchmark_filter=prefill/Q4_K.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/bytes.h"
#include "kernels/kernels.h"
#include "quant/types.h"

namespace {

using ft::Buffer;
using ft::QuantType;
using ft::TypeInfo;

constexpr size_t k_memory_bytes = 256 * ft::k_mib;
constexpr size_t k_cached_bytes = 256 * ft::k_kib;

// Processor time of this thread, which another program's load disturbs least; Google Benchmark's rates use it
// too.
double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// One thread reading memory in a line, the best of several passes.
double measure_read_bytes_per_s(const Buffer<std::byte>& memory) {
    double best = 0;
    for (int pass = 0; pass < 6; pass++) {
        uint64_t sum[8] = {};
        const double start = thread_seconds();
        for (size_t i = 0; i < memory.size(); i += 64) {
            __builtin_prefetch(memory.data() + i + 2048);
            for (size_t j = 0; j < 8; j++) sum[j] += ft::load<uint64_t>(memory.data() + i + 8 * j);
        }
        benchmark::DoNotOptimize(sum);
        best = std::max(best, static_cast<double>(memory.size()) / (thread_seconds() - start));
    }
    return best;
}

// Bytes of 0x30 .. 0x37: whatever field of a type they are, floats are ordinary numbers, none subnormal or
// infinite. Speed depends on nothing else in them.
void fill_weights(std::byte* w, size_t n_byte) {
    std::mt19937 rng(1);
    const size_t unit = std::min<size_t>(n_byte, ft::k_mib);
    for (size_t i = 0; i < unit; i++) w[i] = static_cast<std::byte>(0x30 | (rng() & 7));
    for (size_t at = unit; at < n_byte; at += unit) std::memcpy(w + at, w, std::min(unit, n_byte - at));
}

// Activations of n_token rows in the form that the table's kernels take.
class Tokens {
 public:
    Tokens(const ft::Kernels& table, QuantType type, int64_t n_col, int n_token, int64_t n_row)
        : stride_(table.act_bytes(table.act_kind(type), n_col)),
          blobs_(stride_ * static_cast<size_t>(n_token)),
          results_(static_cast<size_t>(n_row * n_token)) {
        std::mt19937 rng(2);
        std::normal_distribution<float> normal;
        std::vector<float> x(static_cast<size_t>(n_col));
        for (int t = 0; t < n_token; t++) {
            for (float& value : x) value = normal(rng);
            std::byte* blob = blobs_.data() + static_cast<size_t>(t) * stride_;
            table.quantise(table.act_kind(type), x.data(), n_col, blob);
            acts_.push_back(blob);
            out_.push_back(results_.data() + static_cast<size_t>(t) * static_cast<size_t>(n_row));
        }
    }
    const std::byte* const* acts() const { return acts_.data(); }
    float* const* out() const { return out_.data(); }

 private:
    size_t stride_;
    Buffer<std::byte> blobs_;
    Buffer<float> results_;
    std::vector<const std::byte*> acts_;
    std::vector<float*> out_;
};

struct Case {
    const ft::Kernels* table;
    const TypeInfo* type;
    int64_t n_col;
    int n_token;
    double read_bytes_per_s;
};

void run_product(benchmark::State& state, const Case& c, std::byte* weights, int64_t n_row) {
    const size_t row_bytes = c.type->row_bytes(c.n_col);
    fill_weights(weights, row_bytes * static_cast<size_t>(n_row));
    const Tokens tokens(*c.table, c.type->type, c.n_col, c.n_token, n_row);
    const ft::MatMul product{.weights = weights,
                             .row_bytes = row_bytes,
                             .n_col = c.n_col,
                             .n_row = n_row,
                             .acts = tokens.acts(),
                             .out = tokens.out(),
                             .n_token = c.n_token,
                             .next = weights};
    for (auto _ : state) {
        c.table->matmul(c.type->type, product);
        benchmark::ClobberMemory();
    }
    const auto passes = static_cast<double>(state.iterations());
    const double weight_bytes = passes * static_cast<double>(row_bytes) * static_cast<double>(n_row);
    const double flop = passes * 2.0 * static_cast<double>(n_row * c.n_col * c.n_token);
    state.counters["GB/s"] = benchmark::Counter(weight_bytes / 1e9, benchmark::Counter::kIsRate);
    state.counters["GFLOP/s"] = benchmark::Counter(flop / 1e9, benchmark::Counter::kIsRate);
    if (c.read_bytes_per_s > 0)
        state.counters["of_read"] =
            benchmark::Counter(weight_bytes / c.read_bytes_per_s, benchmark::Counter::kIsRate);
}

// Decode over n_byte of weights.
void run_decode(benchmark::State& state, const Case& c, std::byte* weights, size_t n_byte) {
    const auto n_row = static_cast<int64_t>(n_byte / c.type->row_bytes(c.n_col)) & ~int64_t{15};
    run_product(state, c, weights, n_row);
}

void register_all(const ft::Kernels& table, std::byte* memory, double read_bytes_per_s) {
    for (const TypeInfo& type : ft::all_types()) {
        for (const int64_t n_col : {2048, 768}) {
            const std::string name = std::string(type.name) + "/" + std::to_string(n_col);
            const Case decode{&table, &type, n_col, 1, read_bytes_per_s};
            benchmark::RegisterBenchmark(("decode/" + name).c_str(), [=](benchmark::State& state) {
                run_decode(state, decode, memory, k_memory_bytes);
            });
            benchmark::RegisterBenchmark(("cached/" + name).c_str(), [=](benchmark::State& state) {
                run_decode(state, decode, memory, k_cached_bytes);
            });
            for (const int n_token : {1, 2, 3, 4, 8, 16, 64}) {
                const Case prefill{&table, &type, n_col, n_token, 0};
                benchmark::RegisterBenchmark(
                    ("prefill/" + name + "/" + std::to_string(n_token)).c_str(),
                    [=](benchmark::State& state) { run_product(state, prefill, memory, 768); });
            }
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    const ft::Expected<const ft::Kernels*> table = ft::choose_kernels();
    if (!table) {
        std::fprintf(stderr, "%s\n", table.error().sentence().c_str());
        return 1;
    }
    Buffer<std::byte> memory(k_memory_bytes);
    const double read_bytes_per_s = measure_read_bytes_per_s(memory);
    benchmark::AddCustomContext("kernels", (*table)->name);
    benchmark::AddCustomContext("read_gb_per_s", std::to_string(read_bytes_per_s / 1e9));
    register_all(**table, memory.data(), read_bytes_per_s);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
