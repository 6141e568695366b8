// Gated delta net of Ops: the recurrence, token by token and head by head (arithmetic.md 5).
#include <algorithm>
#include <cmath>

#include "model/ops.h"

namespace ft {

// The inputs before the slice come from the state, the others from the step's own rows.
void Ops::delta_conv(const Layer& layer, const Slice& slice) {
    const int history = hp_.ssm_conv_taps - 1;
    const int64_t n_channel = hp_.ssm_channels();
    const View2<float> rows = mixed_.view(n_token_), out = convolved_.view(n_token_);
    float* const past = slice.memory->state.history(layer.state_index);
    const auto input = [&](int64_t t) {
        return t < 0 ? past + (history + t) * n_channel : rows.row(slice.first + t);
    };
    each_row(slice.count, n_channel * hp_.ssm_conv_taps, [&](int64_t t, int worker) {
        float* window = conv_window_.view(pool_.size()).row(worker);
        for (int j = 0; j < history; j++)
            std::copy_n(input(t - history + j), n_channel, window + j * n_channel);
        kernels_.conv_silu(window, input(t), layer.delta_net.conv.data(), hp_.ssm_conv_taps, n_channel,
                           out.row(slice.first + t));
    });
    float* const kept = conv_window_.view(pool_.size()).row(0);
    for (int j = 0; j < history; j++)
        std::copy_n(input(slice.count - history + j), n_channel, kept + j * n_channel);
    std::copy_n(kept, history * n_channel, past);
}

void Ops::delta_head(const Layer& layer, const Slice& slice, int head) {
    const DeltaNetWeights& w = layer.delta_net;
    const int64_t d = hp_.ssm_state, n_k = hp_.ssm_n_head_k * d;
    const auto q_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(d)));
    const View2<float> conv = convolved_.view(n_token_), alpha = alpha_.view(n_token_),
                       beta = beta_.view(n_token_);
    const View2<float> z = z_.view(n_token_), out = delta_out_.view(n_token_);
    float* const state = slice.memory->state.matrix(layer.state_index) + head * d * d;
    // the file stores value heads so that head h uses key head h mod n_head_k
    const int64_t key = head % hp_.ssm_n_head_k * d;
    for (int64_t t = slice.first; t < slice.first + slice.count; t++) {
        const float decay = exp_f32(w.a[head] * softplus_f32(alpha.row(t)[head] + w.dt_bias[head]));
        float* const o = out.row(t) + head * d;
        kernels_.delta_step(state, conv.row(t) + key, conv.row(t) + n_k + key,
                            conv.row(t) + 2 * n_k + head * d, decay, sigmoid_f32(beta.row(t)[head]), q_scale,
                            static_cast<int>(d), o);
        kernels_.rms_norm(o, w.norm.data(), d, hp_.eps, o);
        kernels_.silu_mul(z.row(t) + head * d, o, d, o);
    }
}

void Ops::delta_net(const Layer& layer, View2<const float> in, View2<float> out) {
    const DeltaNetWeights& w = layer.delta_net;
    linear(in, {{w.qkv, mixed_.view(in.rows)},
                {w.gate, z_.view(in.rows)},
                {w.alpha, alpha_.view(in.rows)},
                {w.beta, beta_.view(in.rows)}});
    const View2<float> conv = convolved_.view(in.rows);
    const int64_t d = hp_.ssm_state;
    for (const Slice& slice : slices_) {
        delta_conv(layer, slice);
        each_row(slice.count, 2 * hp_.ssm_n_head_k * d, [&](int64_t i, int) {
            float* const row = conv.row(slice.first + i);  // q heads, then k heads, then v heads
            for (int h = 0; h < 2 * hp_.ssm_n_head_k; h++)
                kernels_.l2_norm(row + h * d, d, hp_.eps, row + h * d);
        });
        pool_.run(hp_.ssm_n_head_v, [&](int head, int) { delta_head(layer, slice, head); });
    }
    linear(delta_out_.view(in.rows), {{w.output, out}});
}

}  // namespace ft
