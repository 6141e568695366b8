#include "quant/stored_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/bytes.h"
#include "quant/activations.h"
#include "quant/half.h"

namespace ft {

void store_q8_0(const float* x, int64_t n, std::byte* blocks) {
    alignas(64) std::byte blob[256];  // of one block of 32
    for (; n > 0; n -= 32, x += 32, blocks += 34) {
        make_activations(ActKind::q8_32, x, 32, blob);
        const ActRow row = act_row(ActKind::q8_32, blob, 32);
        store(blocks, float_to_half(row.d[0]));
        std::memcpy(blocks + 2, row.q, 32);
    }
}

void store_q4_0(const float* x, int64_t n, std::byte* blocks) {
    for (; n > 0; n -= 32, x += 32, blocks += 18) {
        float most = 0.0f;
        bool finite = true;
        for (int i = 0; i < 32; i++) {
            finite = finite && std::isfinite(x[i]);
            if (std::fabs(x[i]) > std::fabs(most)) most = x[i];
        }
        const float d = finite ? most / -8.0f : std::nanf("");
        const float inverse = 1.0f / d;
        uint8_t code[32];
        for (int i = 0; i < 32; i++)
            code[i] = std::isfinite(inverse)
                          ? static_cast<uint8_t>(std::clamp(std::floor(x[i] * inverse + 8.5f), 0.0f, 15.0f))
                          : uint8_t{8};
        store(blocks, float_to_half(d));
        for (int i = 0; i < 16; i++)
            blocks[2 + i] = static_cast<std::byte>(code[i] | static_cast<unsigned>(code[i + 16]) << 4);
    }
}

}  // namespace ft
