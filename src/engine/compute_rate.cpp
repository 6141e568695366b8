#include "engine/compute_rate.h"

#include <algorithm>
#include <vector>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/thread_pool.h"
#include "kernels/kernels.h"

namespace ft {

namespace {

constexpr QuantType k_type = QuantType::Q4_K;
constexpr int64_t k_col = 2048;
constexpr int64_t k_task_rows = 128;
constexpr uint64_t k_weight_bytes = 96 * k_mib;
// Tokens of a prompt's step that share an expert: a few, which is why prompts of mixtures are slower than a
// dense model's.
constexpr int k_shared_tokens = 16;

double middle_of(std::vector<double> rates) {
    const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
    std::nth_element(rates.begin(), middle, rates.end());
    return *middle;
}

}  // namespace

// Weights, activations of some tokens and places for results.
struct ComputeBench::State {
    const Kernels& kernels;
    ThreadPool pool;
    size_t row_bytes = type_info(k_type).row_bytes(k_col);
    int64_t n_task = static_cast<int64_t>(k_weight_bytes / row_bytes) / k_task_rows;
    Buffer<std::byte> weights{static_cast<size_t>(n_task * k_task_rows) * row_bytes};
    Buffer<std::byte> acts;
    std::vector<const std::byte*> act_of;
    std::vector<Buffer<float>> results;  // of each worker: [k_shared_tokens, k_task_rows]

    std::vector<double> one, several;  // what was measured, bytes of weights a second

    State(const Kernels& table, int threads) : kernels(table), pool(threads) {
        std::fill_n(weights.data(), weights.size(), std::byte{0x11});
        const ActKind kind = kernels.act_kind(k_type);
        const size_t bytes = kernels.act_bytes(kind, k_col);
        acts = Buffer<std::byte>(bytes * k_shared_tokens);
        const std::vector<float> x(k_col, 0.5f);
        for (int t = 0; t < k_shared_tokens; t++) {
            act_of.push_back(acts.data() + static_cast<size_t>(t) * bytes);
            kernels.quantise(kind, x.data(), k_col, acts.data() + static_cast<size_t>(t) * bytes);
        }
        for (int i = 0; i < pool.size(); i++) results.emplace_back(k_shared_tokens * k_task_rows);
    }

    // Products of all weights with n_token tokens, over and over for `seconds`; bytes of weights a second.
    double bytes_per_second(int n_token, double seconds) {
        const Seconds start = now_seconds();
        uint64_t bytes = 0;
        const auto round = static_cast<int>(std::min<int64_t>(n_task, 8 * pool.size()));
        for (int64_t first = 0; now_seconds() - start < seconds; first = (first + round) % n_task) {
            pool.run(round, [&](int i, int worker) {
                float* out[k_shared_tokens];
                for (int t = 0; t < n_token; t++) out[t] = results[worker].data() + t * k_task_rows;
                const int64_t row = (first + i) % n_task * k_task_rows;
                kernels.matmul(k_type,
                               MatMul{.weights = weights.data() + static_cast<size_t>(row) * row_bytes,
                                      .row_bytes = row_bytes,
                                      .n_col = k_col,
                                      .n_row = k_task_rows,
                                      .acts = act_of.data(),
                                      .out = out,
                                      .n_token = n_token,
                                      .next = nullptr});
            });
            bytes += static_cast<uint64_t>(round * k_task_rows) * row_bytes;
        }
        return static_cast<double>(bytes) / std::max(1e-9, now_seconds() - start);
    }
};

Expected<ComputeBench> ComputeBench::create(int threads) {
    const auto kernels = choose_kernels();
    if (!kernels) return kernels.error();
    return ComputeBench(std::make_unique<State>(**kernels, threads));
}

ComputeBench::ComputeBench(std::unique_ptr<State> state) : state_(std::move(state)) {}
ComputeBench::ComputeBench(ComputeBench&& other) noexcept = default;
ComputeBench::~ComputeBench() = default;

void ComputeBench::measure(double seconds) {
    state_->one.push_back(state_->bytes_per_second(1, seconds / 2));
    state_->several.push_back(state_->bytes_per_second(k_shared_tokens, seconds / 2));
}

ComputeRate ComputeBench::rate() const {
    check(!state_->one.empty(), "a rate before anything was measured");
    const double weights_per_byte = static_cast<double>(k_col) / static_cast<double>(state_->row_bytes);
    return ComputeRate{.read_gb_per_second = middle_of(state_->one) / 1e9,
                       .gflops = 2 * middle_of(state_->several) * weights_per_byte * k_shared_tokens / 1e9};
}

}  // namespace ft
