#include "kv/kv_shape.h"

namespace ft {

size_t kv_row_bytes(KvType type, int dim) { return static_cast<size_t>(dim) * (type == KvType::f32 ? 4 : 2); }

uint64_t KvShape::bytes_per_token() const {
    return static_cast<uint64_t>(n_layer) * n_head_kv * (row_bytes_k() + row_bytes_v());
}

}  // namespace ft
