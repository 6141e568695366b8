#include "kv/kv_shape.h"

namespace ft {

size_t kv_row_bytes(KvType type, int dim) {
    const auto n = static_cast<size_t>(dim);
    switch (type) {
        case KvType::f16:
            return 2 * n;
        case KvType::f32:
            return 4 * n;
        case KvType::q8_0:
            return n / 32 * 34;
        case KvType::q4_0:
            return n / 32 * 18;
    }
    return 0;
}

void KvShape::store_as(KvTypes types) {
    const auto fitting = [](KvType type, int dim) {
        return type != KvType::f32 && dim % 32 != 0 ? KvType::f16 : type;
    };
    type_k = fitting(types.k, dim_k);
    type_v = fitting(types.v, dim_v);
}

uint64_t KvShape::bytes_per_token() const {
    return static_cast<uint64_t>(n_layer) * n_head_kv * (row_bytes_k() + row_bytes_v());
}

}  // namespace ft
