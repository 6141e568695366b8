// Rotary position embedding: angles in double, sines and cosines rounded once to f32 (docs/arithmetic.md 2).
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/view.h"
#include "gguf/gguf.h"

namespace ft {

enum class RopeKind { norm, neox };  // pairs (x[2i], x[2i+1]) or (x[i], x[i + n_rot/2])
enum class RopeScaling { none, linear, yarn };

struct RopeParams {
    RopeKind kind = RopeKind::norm;
    int64_t n_rot = 0;  // rotated values per head, even
    double base = 10000.0;
    RopeScaling scaling = RopeScaling::none;
    double factor = 1.0;        // context is stretched by this
    double n_ctx_original = 0;  // yarn: context length before stretching
    double ext_factor = 1.0;    // yarn: share of the ramp
    double attn_factor = 1.0;   // multiplies cosines and sines
    double beta_fast = 32.0, beta_slow = 1.0;
    double log_multiplier = 0.0;
};

Expected<RopeParams> read_rope(const Gguf& file, const std::string& arch, RopeKind kind, int64_t dim_k,
                               int64_t n_ctx_model);

// Cosines and sines of one position after the other.
class Rope {
 public:
    Rope() = default;
    // factors [n_rot / 2] divide the angles (rope_freqs.weight); empty: none.
    Rope(const RopeParams& params, std::vector<float> factors);

    int64_t n_pair() const { return static_cast<int64_t>(angle_.size()); }
    // cos_sin [2 * n_pair]: all cosines of the position, then all sines.
    void table(int64_t position, float* cos_sin) const;
    // Turns the first n_rot values of each of n_head heads; head h starts at x + h * head_stride.
    void rotate(float* x, int n_head, int64_t head_stride, const float* cos_sin) const;

 private:
    RopeKind kind_ = RopeKind::norm;
    std::vector<double> angle_;  // radians per position, of each pair
    double magnitude_ = 1.0;
};

}  // namespace ft
