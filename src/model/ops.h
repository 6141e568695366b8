// The operations that blocks are written in, on the tokens of one step. They own the step's scratch and
// spread the work over the pool; what they compute is defined in docs/arithmetic.md and does not depend on
// how it is spread.
//
// Nothing here allocates after construction. Nothing can fail, because shapes were checked when the model was
// bound, except that experts which are read while they are needed may not come: see status().
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/thread_pool.h"
#include "base/view.h"
#include "kernels/kernels.h"
#include "kv/kv_sequence.h"
#include "kv/recurrent_state.h"
#include "model/guess_routers.h"
#include "model/hparams.h"
#include "model/rope.h"
#include "model/scratch.h"
#include "model/weights.h"
#include "tiers/expert_cache.h"

namespace ft {

constexpr int k_most_guessed = 64;    // tokens of a step whose next experts are guessed
constexpr int k_attend_queries = 16;  // queries that read the same keys and values together

// What one sequence remembers.
struct SequenceMemory {
    KvSequence kv;
    RecurrentState state;
};

// Tokens of one sequence in a step: rows [first, first + count), at positions from `position` on.
struct Slice {
    SequenceMemory* memory = nullptr;
    int first = 0;
    int count = 0;
    int64_t position = 0;
};

// Views of the step's rows [n_token, ...]. x is the residual stream; the rest is scratch of a block.
struct Activity {
    View2<float> x, h, y;       // n_embd
    View2<float> q, k, v, o;    // heads side by side
    View2<float> q_gate, gate;  // architectures whose attention has an output gate
};

// y = W x for the rows of one input.
struct Product {
    const Weight& weight;
    View2<float> out;
};

class Ops {
 public:
    // max_token: rows of the largest step.
    Ops(const Hparams& hp, bool renormalise, const Kernels& kernels, ThreadPool& pool, const Rope& rope,
        int max_token);

    const Hparams& hp() const { return hp_; }
    const Kernels& kernels() const { return kernels_; }
    int max_token() const { return max_token_; }
    // What an object with so many threads and tokens allocates; scratch_bytes() is what this one did.
    static ScratchBytes planned_scratch(const Hparams& hp, const Kernels& kernels, const Rope& rope,
                                        int n_thread);
    uint64_t scratch_bytes() const;

    // Starts a step: sizes the views, works out the rotation of every token. Slices cover the rows without
    // gaps.
    void begin(std::span<const Slice> slices);
    Activity& activity() { return activity_; }
    // A token sees the last `window` positions, its own included, and the first `sinks` of all. 0: it sees
    // all.
    void use_window(int64_t window, int64_t sinks) {
        window_ = window;
        sinks_ = sinks;
    }
    // Experts come from the cache from now on; it and the routers that guesses are made with, of the layers
    // that steps run, must outlive this object. Without a cache all experts are resident.
    void use_cache(ExpertCache& cache, const GuessRouters& routers) {
        cache_ = &cache;
        guess_routers_ = &routers;
    }
    // An error of the present step: its results are worth nothing.
    Status status() const { return cache_ == nullptr ? Status{} : cache_->status(); }
    // Called with layer number, token row and the chosen ids by rank; empty: not called.
    std::function<void(int layer, int token, std::span<const int32_t> ids)> on_route;

    void rms_norm(View2<const float> in, const Vector& w, View2<float> out);
    // Several matrices times the same rows: activations are quantised once for each form, one pass over all
    // weights.
    void linear(View2<const float> in, std::initializer_list<Product> products);
    void add(View2<float> x, View2<const float> y);  // x = x + y

    // Per head, in place: w [dim_k] for all heads.
    void head_norm(View2<float> rows, int n_head, const Vector& w);
    void rope(View2<float> rows, int n_head);
    void split_gate(View2<const float> q_gate, View2<float> q, View2<float> gate);  // per head: query, gate
    void sigmoid_gate(View2<const float> gate, View2<float> x);                     // x = x * sigmoid(gate)
    // Stores k and v, then out = softmax(q k^T) v over all positions up to each token's own.
    void attention(const Layer& layer, View2<const float> q, View2<const float> k, View2<const float> v,
                   View2<float> out);
    void dense(const DenseWeights& w, View2<const float> in, View2<float> out);  // SwiGLU
    void mixture(const Layer& layer, View2<const float> in,
                 View2<float> out);  // router, experts, shared expert
    // The second half of a block: x = x + FFN(norm2(x)), dense or mixture.
    void feed_forward(const Layer& layer);
    void delta_net(const Layer& layer, View2<const float> in, View2<float> out);

 private:
    // The buffers and their sizes: `rows` of them for each token of the largest step, for each thread, or
    // once.
    enum class Per { token, thread, once };
    struct Rows {
        RowBuffer Ops::* buffer;
        Per per;
        int64_t rows, width;
    };
    struct Acts {
        ActBuffer Ops::* buffer;
        Per per;
        int64_t rows, width;
    };
    static std::vector<Rows> row_buffers(const Hparams& hp, const Kernels& kernels, const Rope& rope);
    static std::vector<Acts> act_buffers(const Hparams& hp);
    static int64_t count(Per per, int n_token, int n_thread);
    static ScratchBytes planned_lists(const Hparams& hp, int n_thread);
    void make_lists();
    uint64_t list_bytes() const;

    // Rows of a matrix for a list of tokens: what one thread computes at a time.
    struct MatTask {
        Weight weight;
        const std::byte* const* acts;
        float* const* out;  // where row 0 of the whole matrix goes, for each token
        int64_t row_begin;
        int n_token;
    };

    // fn(row, worker) for every row, over the pool where the work is worth waking it (values: touched per
    // row).
    void each_row(int64_t n, int64_t values, FunctionRef<void(int64_t row, int worker)> fn);
    void make_acts(ActBuffer& acts, ActKind kind);
    void add_tasks(const Weight& w, const std::byte* const* acts, float* const* out, int n_token);
    void run_tasks();
    void run_task(const MatTask& task, const std::byte* next, int worker);
    void store_kv(const Layer& layer, View2<const float> k, View2<const float> v);
    // Queries that are computed together: some heads of one KV head, some tokens of a slice.
    struct Queries {
        int kv_head, first_head, n_head, first_token, n_token;
    };
    int heads_per_task() const;
    void look(int64_t position, int64_t block, AttendQuery& query) const;
    int64_t block_after(int64_t block, int64_t position) const;
    void make_query_acts(int n, AttendQuery* queries, int worker);
    void attend(const Slice& slice, int layer, const Queries& of, View2<const float> q, View2<float> out,
                int worker);
    void choose_experts(const Layer& layer, View2<const float> in);
    void group_by_expert(int n_token);
    void prepare_pairs(const Layer& layer, int n_token);
    void resident_experts(const Layer& layer, int n_token);
    void streamed_experts(const Layer& layer, int n_token);
    void guess_next(const Layer& layer, int n_token);
    std::span<const int32_t> likeliest_first(int n_token);
    void compute_batch(const Layer& layer, int n_token, bool with_shared);
    void gate_and_up(const Layer& layer, int n_token, bool with_shared);
    void activate(const Layer& layer);
    void add_shared_tasks(const DenseWeights& shared, int n_token);
    void add_shared_down_tasks(const DenseWeights& shared, int n_token);
    void sum_experts(const Layer& layer, View2<float> out);
    void delta_conv(const Layer& layer, const Slice& slice);
    void delta_head(const Layer& layer, const Slice& slice, int head);

    const Hparams& hp_;
    const bool renormalise_;
    const Kernels& kernels_;
    ThreadPool& pool_;
    const Rope& rope_;
    const int max_token_;

    Activity activity_;
    std::vector<Slice> slices_;
    int n_token_ = 0;
    std::vector<MatTask> tasks_;
    std::vector<std::vector<float*>> worker_out_;  // [worker][token] output pointers of a task

    RowBuffer x_, h_, y_, q_, k_, v_, o_, q_gate_, gate_;
    RowBuffer ff_gate_, ff_up_;  // dense and shared feed-forward
    RowBuffer cos_sin_;
    ActBuffer acts_, ff_acts_;
    int64_t window_ = 0, sinks_ = 0;
    std::vector<int> slice_tasks_;  // number of each slice's first task of attention
    RowBuffer attend_;              // per worker: two outputs of each query, and scores
    RowBuffer attend_acts_;         // per worker: its queries as blobs, for keys in blocks

    // mixture: a pair is a token and one of its experts, number token * top_k + rank
    RowBuffer router_logits_, router_probs_, pair_gate_, pair_up_, pair_out_, shared_out_, shared_gate_;
    ActBuffer pair_acts_;
    std::vector<int32_t> ids_;                         // [pair]
    std::vector<float> weights_;                       // [pair]
    std::vector<int32_t> expert_begin_;                // [n_expert + 1] in pairs_
    std::vector<int32_t> pairs_;                       // pairs by expert
    std::vector<const std::byte*> in_ptr_, down_ptr_;  // [place in pairs_]
    std::vector<float*> gate_ptr_, up_ptr_, out_ptr_;  // [place in pairs_]
    // Experts that are computed together: all of a layer where they are resident, else those that are there.
    struct ExpertUse {
        int expert;
        Weight gate, up, down;
    };
    std::vector<ExpertUse> batch_;
    std::vector<int> places_;  // in pairs_, of the batch
    ExpertCache* cache_ = nullptr;
    std::vector<Lease> leases_;
    // What the next layer's router says one layer early.
    const GuessRouters* guess_routers_ = nullptr;
    RowBuffer guess_h_, guess_logits_, guess_probs_;
    ActBuffer guess_acts_;
    std::vector<int32_t> guess_ids_;
    std::vector<float> guess_weights_;
    std::vector<int32_t> guess_uses_, guess_order_;  // [n_expert]
    std::vector<float*> row_ptr_[4];                 // outputs of linear(), by row

    // delta net
    RowBuffer mixed_;        // [n_token, channels]: input of the convolution
    RowBuffer conv_window_;  // per worker: the taps - 1 inputs before a token
    RowBuffer convolved_, z_, alpha_, beta_, delta_out_;
};

}  // namespace ft
