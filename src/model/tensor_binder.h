// Finds the tensors of a model in its file(s), checks their shapes, and gives every one its place in memory
// before a byte of them is read. Architectures say what they need in bind_NAME(); nothing else decides what
// is loaded.
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/buffer.h"
#include "base/memory_map.h"
#include "gguf/gguf.h"
#include "io/load.h"
#include "model/hparams.h"
#include "model/weights.h"

namespace ft {

// Where the weights of a model live: for each part of the file a mapping in which byte o of the file has its
// place, so that aligned direct reads land where the bytes are used. Places of tensors that are not bound
// stay untouched.
struct WeightMemory {
    std::vector<MemoryMap> parts;
    std::vector<uint64_t> first_byte;     // file offset of the first byte of each part's mapping
    std::deque<Buffer<float>> converted;  // tensors that are kept as f32 (routers below F32, ...)

    static Expected<WeightMemory> reserve(const Gguf& file);
    // For the ranges that are to be filled (in rising order) and no more: huge pages that reach beyond would
    // cost memory.
    void prefer_huge_pages(std::span<const LoadRange> ranges);
    std::byte* at(const TensorInfo& tensor) const {
        return parts[tensor.part].data() + (tensor.offset - first_byte[tensor.part]);
    }
};

// The first error is kept and ends all further work: check status() once at the end.
class TensorBinder {
 public:
    TensorBinder(const Gguf& file, WeightMemory& memory) : file_(file), memory_(memory) {}

    // Names that follow are "blk.N.NAME"; below 0: global names.
    void set_layer(int layer) { layer_ = layer; }
    bool has(std::string_view name) const;  // NAME.weight is in the file

    // NAME.weight [n_col, n_row], with NAME.bias and NAME.scale where the file has them.
    Weight weight(std::string_view name, int64_t n_col, int64_t n_row);
    Weight optional_weight(std::string_view name, int64_t n_col, int64_t n_row);
    // NAME.weight [n_col, n_row, n_expert] and NAME.scale [n_expert].
    ExpertStack experts(std::string_view name, int64_t n_col, int64_t n_row, int n_expert);
    // NAME.weight as f32 rows whatever its type in the file: routers.
    Weight weight_as_f32(std::string_view name, int64_t n_col, int64_t n_row);
    // A tensor of n values as f32; the full name within the block ("attn_norm.weight"). The vector is filled
    // by convert(), once the bytes are there; it must stay where it is until then.
    void vector(std::string_view full_name, int64_t n, Vector& out);
    void optional_vector(std::string_view full_name, int64_t n, Vector& out);

    const Status& status() const { return status_; }
    const std::vector<const TensorInfo*>& bound() const { return bound_; }
    // After the bytes of bound() were read: fills what is kept as f32.
    void convert();
    // Tensors of the n_layer blocks that run, and of none, that nobody asked for; except kinds that are known
    // and not used.
    std::vector<std::string> unused(int n_layer) const;

 private:
    std::string full_name(std::string_view name) const;
    const TensorInfo* find(const std::string& name, bool required);
    const TensorInfo* take(const std::string& name, int64_t n_col, int64_t n_row, int64_t n_matrix,
                           bool required);
    bool check_shape(const TensorInfo& tensor, int64_t n_col, int64_t n_row, int64_t n_matrix);
    Weight bind_weight(std::string_view name, int64_t n_col, int64_t n_row, bool required);
    const float* f32_values(const TensorInfo& tensor, int64_t n);
    void fail(Error error) {
        if (status_) status_ = std::move(error);
    }

    const Gguf& file_;
    WeightMemory& memory_;
    int layer_ = -1;
    Status status_;
    std::vector<const TensorInfo*> bound_;
    std::unordered_set<std::string> names_;
    std::vector<std::function<void()>> conversions_;
};

// The parts that several architectures share. Fused forms (attn_qkv, ffn_gate_up_exps) are accepted
// everywhere. q, k, v, output; q_parts: rows of q per head in units of the head size (2 where a gate follows
// each head's query)
void bind_attention(TensorBinder& tensors, const Hparams& hp, Layer& layer, int q_parts = 1);
void bind_dense(TensorBinder& tensors, const Hparams& hp, Layer& layer);    // ffn_gate, ffn_up, ffn_down
void bind_mixture(TensorBinder& tensors, const Hparams& hp, Layer& layer);  // router and experts
void bind_shared_expert(TensorBinder& tensors, const Hparams& hp, Layer& layer);  // with its gate

}  // namespace ft
