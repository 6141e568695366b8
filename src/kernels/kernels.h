// The inner loops, one table per instruction set. All tables give the same bits (docs/arithmetic.md); the
// table is chosen once at start. A table is pure functions over memory it is handed: no allocation, no
// threads, no locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.h"
#include "quant/types.h"

namespace ft {

// W [n_row, n_col] times T activation rows. out[t][r] for r in [0, n_row).
struct MatMul {
    const std::byte* weights;  // row r starts at weights + r * row_bytes; any alignment
    size_t row_bytes;
    int64_t n_col;
    int64_t n_row;
    const std::byte* const* acts;  // [n_token] blobs made by the same table's quantise() for act_kind(type)
    float* const* out;  // [n_token] where row 0 of each token's result goes; not aliased with anything
    int n_token;
    const std::byte* next = nullptr;  // what this thread reads after this call, for prefetch; may be null
};

// K and V of one KV head for up to 128 positions (one attention chunk), as stored.
enum class KvType : uint8_t { f16, f32, q8_0, q4_0 };

struct AttendChunk {
    KvType type_k, type_v;
    const std::byte* k;         // [n_pos, dim_k]
    const std::byte* v;         // [n_pos, dim_v]
    size_t k_stride, v_stride;  // bytes from one position to the next
    int dim_k, dim_v;           // multiples of 32 where the type is of blocks
    int n_pos;                  // 1..128 positions that may be read
};

// A query of one head, and the positions of a chunk that it sees: [0, sinks) and [first, end), at least one,
// where sinks <= first and end <= n_pos of the chunk.
struct AttendQuery {
    const float* x;        // [dim_k]; read where keys are f16 or f32
    const std::byte* act;  // quantise(q8_32, x); read where keys are q8_0 or q4_0
    int sinks, first, end;
};

struct Kernels {
    const char* name;  // "scalar", "avx2", "reference"

    // Form of activations that matmul of this type takes, and the blob size for n values (a multiple of 64).
    ActKind (*act_kind)(QuantType type);
    size_t (*act_bytes)(ActKind kind, int64_t n);
    void (*quantise)(ActKind kind, const float* x, int64_t n, std::byte* blob);
    void (*matmul)(QuantType type, const MatMul& args);

    // Elementwise, arithmetic.md 2. n values; out may be the input.
    void (*rms_norm)(const float* x, const float* w, int64_t n, float eps,
                     float* out);  // w may be null: weights of 1
    void (*l2_norm)(const float* x, int64_t n, float eps, float* out);
    void (*silu_mul)(const float* gate, const float* up, int64_t n, float* out);    // silu(gate) * up
    void (*sigmoid_mul)(const float* gate, const float* x, int64_t n, float* out);  // x * sigmoid(gate)
    void (*silu)(const float* x, int64_t n, float* out);
    void (*softmax)(const float* x, int64_t n, float* out);  // exp(x - max) / sum (rule 1.1 with w = 1)
    void (*add)(const float* a, const float* b, int64_t n, float* out);
    void (*scale_add)(const float* x, float w, int64_t n, float* y,
                      bool first);  // y = w * x (first) or y = y + (w * x)

    // One chunk of attention (arithmetic.md 4) for n_query queries that share keys, which is faster than one
    // by one: the heads of a group, neighbouring tokens. Scores, m, l and o of this chunk alone. scratch
    // [512] f32; m, l [n_query]; o[i] [dim_v].
    void (*attend)(const AttendChunk& chunk, int n_query, const AttendQuery* queries, float scale,
                   float* scratch, float* m, float* l, float* const* o);
    // Merges chunk (m2, l2, o2) into (m, l, o): the later positions are the second. dim_v values.
    void (*attend_merge)(float* m, float* l, float* o, float m2, float l2, const float* o2, int dim_v);

    // Gated delta net, one value head, one token (arithmetic.md 5). state [d, d] f32, row = key index i,
    // column = value index j; q, k already normalised [d]; v, o [d]; decay = exp(g). beta scalar; q_scale =
    // f32(1 / sqrt(d)).
    void (*delta_step)(float* state, const float* q, const float* k, const float* v, float decay, float beta,
                       float q_scale, int d, float* o);
    // Depth-wise causal convolution of n_channel channels, taps values per channel (last tap = current
    // token), then silu: history [taps - 1, n_channel] f32 oldest first; x [n_channel] f32 the current token;
    // w [n_channel, taps].
    void (*conv_silu)(const float* history, const float* x, const float* w, int taps, int64_t n_channel,
                      float* out);
};

// The table named by FREETOKEN_ISA, or the best this CPU has. An unknown name, or one that this CPU cannot
// run, is an error that names the variable and the tables there are.
Expected<const Kernels*> choose_kernels();
Expected<const Kernels*> find_kernels(std::string_view name);
std::span<const Kernels* const> compiled_kernels();  // all compiled in that this CPU can run, scalar first
// Reference backend: every weight dequantised to f32, activations f32 (rule 1.1 for every type). The accuracy
// oracle.
const Kernels& reference_kernels();

// Scalar functions that decide bits, shared by every table (arithmetic.md 2; one polynomial, own
// coefficients).
float exp_f32(float x);
float log_f32(float x);       // for softplus; x > 0
float softplus_f32(float x);  // x above 20: x; else ln(1 + exp(x))
float sigmoid_f32(float x);   // 1 / (1 + exp(-x))
float tanh_f32(float x);
float gelu_f32(float x);  // tanh form

}  // namespace ft
