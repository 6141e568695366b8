#include "model/rope.h"

#include <algorithm>
#include <cmath>

#include "base/double_math.h"

namespace ft {

namespace {

constexpr double k_pi = 3.14159265358979323846;

// YaRN's magnitude for a stretch by s (YaRN paper, section 3.4): 1 + 0.1 m ln s.
double yarn_magnitude(double s, double m) { return s <= 1.0 ? 1.0 : 1.0 + 0.1 * m * log_f64(s); }

// The pair index whose wave turns `beta` times over the original context.
double yarn_dim(const RopeParams& p, double beta) {
    return static_cast<double>(p.n_rot) * log_f64(p.n_ctx_original / (beta * 2.0 * k_pi)) /
           (2.0 * log_f64(p.base));
}

// Share of the unstretched angle for pair i: 1 for fast pairs, 0 for slow ones, a ramp between.
double yarn_mix(const RopeParams& p, int64_t i) {
    const double low = std::max(0.0, std::floor(yarn_dim(p, p.beta_fast)));
    const double high = std::min(static_cast<double>(p.n_rot - 1), std::ceil(yarn_dim(p, p.beta_slow)));
    const double ramp = (static_cast<double>(i) - low) / std::max(0.001, high - low);
    return (1.0 - std::clamp(ramp, 0.0, 1.0)) * p.ext_factor;
}

}  // namespace

Expected<RopeParams> read_rope(const Gguf& file, const std::string& arch, RopeKind kind, int64_t dim_k,
                               int64_t n_ctx_model) {
    const auto key = [&](const char* name) { return arch + "." + name; };
    RopeParams p;
    p.kind = kind;
    const auto number = [&](const char* name, double otherwise, double* out) -> Status {
        auto value = file.get_float(key(name), otherwise);
        if (!value) return value.error();
        if (!std::isfinite(*value))
            return Error{Code::invalid, fmt::format("{} is not finite", key(name)),
                         "The file is damaged; fetch it again."};
        *out = *value;
        return {};
    };
    auto n_rot = file.get_int(key("rope.dimension_count"), dim_k);
    if (!n_rot) return n_rot.error();
    if (*n_rot <= 0 || *n_rot > dim_k || *n_rot % 2 != 0)
        return Error{Code::invalid,
                     fmt::format("{} is {}, but must be even and at most the head size {}",
                                 key("rope.dimension_count"), *n_rot, dim_k),
                     "The file is damaged or of a kind that is not known here."};
    p.n_rot = *n_rot;
    double old_linear = 0, attn = 1, yarn_attn = 1;
    auto type = file.get_string(key("rope.scaling.type"), "linear");
    if (!type) return type.error();
    for (const Status& s :
         {number("rope.freq_base", 10000.0, &p.base), number("rope.scale_linear", 0, &old_linear),
          number("rope.scaling.attn_factor", 1.0, &attn),
          number("rope.scaling.yarn_attn_factor", 1.0, &yarn_attn),
          number("rope.scaling.yarn_ext_factor", 1.0, &p.ext_factor),
          number("rope.scaling.yarn_beta_fast", 32.0, &p.beta_fast),
          number("rope.scaling.yarn_beta_slow", 1.0, &p.beta_slow),
          number("rope.scaling.yarn_log_multiplier", 0.0, &p.log_multiplier)})
        if (!s) return s.error();
    if (auto s = number("rope.scaling.factor", old_linear, &p.factor); !s) return s.error();
    if (auto s = number("rope.scaling.original_context_length", static_cast<double>(n_ctx_model),
                        &p.n_ctx_original);
        !s)
        return s.error();
    if (p.base <= 1.0)
        return Error{Code::invalid,
                     fmt::format("{} is {}, but must be above 1", key("rope.freq_base"), p.base),
                     "The file is damaged; fetch it again."};
    if (p.factor == 0.0) p.factor = 1.0;
    if (p.factor < 0.0 || p.n_ctx_original <= 0.0)
        return Error{Code::invalid,
                     fmt::format("{} is negative, or the original context is not positive",
                                 key("rope.scaling.factor")),
                     "The file is damaged; fetch it again."};
    p.attn_factor = attn * yarn_attn;
    if (*type == "none" || *type == "") p.scaling = RopeScaling::none;
    else if (*type == "linear") p.scaling = RopeScaling::linear;
    else if (*type == "yarn") p.scaling = RopeScaling::yarn;
    else
        return Error{Code::unsupported, fmt::format("{} is '{}'", key("rope.scaling.type"), printable(*type)),
                     "none, linear and yarn work here."};
    return p;
}

Rope::Rope(const RopeParams& p, std::vector<float> factors) : kind_(p.kind) {
    magnitude_ = p.attn_factor;
    if (p.scaling == RopeScaling::yarn)
        magnitude_ *= p.log_multiplier != 0.0
                          ? yarn_magnitude(p.factor, 1.0) / yarn_magnitude(p.factor, p.log_multiplier)
                          : yarn_magnitude(p.factor, 1.0);
    for (int64_t i = 0; i < p.n_rot / 2; i++) {
        double angle = pow_f64(p.base, -2.0 * static_cast<double>(i) / static_cast<double>(p.n_rot));
        if (!factors.empty()) angle = angle / static_cast<double>(factors[static_cast<size_t>(i)]);
        if (p.scaling == RopeScaling::linear) angle = angle / p.factor;
        if (p.scaling == RopeScaling::yarn) {
            const double mix = yarn_mix(p, i);
            angle = angle * (mix + (1.0 - mix) / p.factor);
        }
        angle_.push_back(angle);
    }
}

void Rope::table(int64_t position, float* cos_sin) const {
    const auto n = angle_.size();
    for (size_t i = 0; i < n; i++) {
        const double t = static_cast<double>(position) * angle_[i];
        cos_sin[i] = static_cast<float>(cos_f64(t) * magnitude_);
        cos_sin[n + i] = static_cast<float>(sin_f64(t) * magnitude_);
    }
}

void Rope::rotate(float* x, int n_head, int64_t head_stride, const float* cos_sin) const {
    const int64_t n = n_pair();
    const int64_t step = kind_ == RopeKind::norm ? 2 : 1, apart = kind_ == RopeKind::norm ? 1 : n;
    for (int h = 0; h < n_head; h++) {
        float* head = x + h * head_stride;
        for (int64_t i = 0; i < n; i++) {
            float& a = head[i * step];
            float& b = head[i * step + apart];
            const float c = cos_sin[i], s = cos_sin[n + i], x0 = a, x1 = b;
            a = x0 * c - x1 * s;
            b = x0 * s + x1 * c;
        }
    }
}

}  // namespace ft
