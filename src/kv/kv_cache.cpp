#include "kv/kv_cache.h"

#include "base/bytes.h"
#include "quant/half.h"

namespace ft {

uint64_t KvShape::bytes_per_token() const {
    return static_cast<uint64_t>(n_layer) * n_head_kv * (dim_k + dim_v) * value_bytes();
}

uint64_t KvShape::bytes() const {
    return bytes_per_token() * static_cast<uint64_t>(ceil_div(n_ctx, k_kv_block) * k_kv_block);
}

Expected<KvCache> KvCache::create(const KvShape& shape) {
    KvCache cache;
    cache.shape_ = shape;
    cache.head_block_bytes_ =
        static_cast<size_t>(k_kv_block) * (shape.dim_k + shape.dim_v) * shape.value_bytes();
    cache.n_block_ = ceil_div(shape.n_ctx, k_kv_block);
    auto memory = MemoryMap::reserve(shape.bytes());
    if (!memory) return memory.error().within("KV cache");
    cache.memory_ = std::move(*memory);
    return cache;
}

std::byte* KvCache::block_at(int layer, int head, int64_t block) const {
    const auto index = (static_cast<int64_t>(layer) * n_block_ + block) * shape_.n_head_kv + head;
    return memory_.data() + static_cast<size_t>(index) * head_block_bytes_;
}

void KvCache::write(int layer, int head, int64_t position, const float* k, const float* v) {
    const int64_t row = position % k_kv_block;
    std::byte* at = block_at(layer, head, position / k_kv_block);
    std::byte* const k_at = at + static_cast<size_t>(row * shape_.dim_k * shape_.value_bytes());
    std::byte* const v_at =
        at + static_cast<size_t>((k_kv_block * shape_.dim_k + row * shape_.dim_v) * shape_.value_bytes());
    if (shape_.type == KvType::f32) {
        std::memcpy(k_at, k, sizeof(float) * shape_.dim_k);
        std::memcpy(v_at, v, sizeof(float) * shape_.dim_v);
        return;
    }
    for (int i = 0; i < shape_.dim_k; i++) store(k_at + 2 * i, float_to_half(k[i]));
    for (int i = 0; i < shape_.dim_v; i++) store(v_at + 2 * i, float_to_half(v[i]));
}

AttendChunk KvCache::chunk(int layer, int head, int64_t block, int n_pos) const {
    const std::byte* at = block_at(layer, head, block);
    const auto value = static_cast<size_t>(shape_.value_bytes());
    return AttendChunk{.type = shape_.type,
                       .k = at,
                       .v = at + k_kv_block * shape_.dim_k * value,
                       .k_stride = shape_.dim_k * value,
                       .v_stride = shape_.dim_v * value,
                       .dim_k = shape_.dim_k,
                       .dim_v = shape_.dim_v,
                       .n_pos = n_pos};
}

}  // namespace ft
