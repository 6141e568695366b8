// A model: its numbers, its layers and the memory that its weights lie in. Immutable once loaded.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "gguf/gguf.h"
#include "model/archs.h"
#include "model/ops.h"
#include "model/tensor_binder.h"

namespace ft {

class Model {
 public:
    // Reads keys and tensor list, checks every shape, gives every weight its place. Nothing of the data is
    // read yet.
    static Expected<std::unique_ptr<Model>> bind(const Gguf& file);
    // Reads the weights. Errors name the file.
    Status load(const std::function<void(uint64_t done, uint64_t total)>& progress);

    const Hparams& hp() const { return hp_; }
    const Arch& arch() const { return *arch_; }
    const Rope& rope() const { return rope_; }
    std::span<const Layer> layers() const { return layers_; }
    KvShape kv_shape(int64_t n_ctx, KvType type) const;
    RecurrentShape recurrent_shape() const;
    uint64_t weight_bytes() const { return weight_bytes_; }        // that load() reads
    uint64_t bytes_per_token() const { return bytes_per_token_; }  // of them, read for one generated token

    // Runs the blocks over the ids of the slices; the residual stream of every row is then in
    // ops.activity().x.
    void forward(Ops& ops, std::span<const Slice> slices, std::span<const int32_t> ids) const;
    // Logits of rows [first, first + out.rows) of the residual stream; out [rows, n_vocab].
    void head(Ops& ops, int64_t first, View2<float> out) const;

 private:
    Model(const Gguf& file, WeightMemory memory)
        : file_(file), memory_(std::move(memory)), tensors_(file_, memory_) {}
    Status bind_tensors();
    void count_bytes();

    const Gguf& file_;
    const Arch* arch_ = nullptr;
    Hparams hp_;
    WeightMemory memory_;
    TensorBinder tensors_;
    std::vector<Layer> layers_;
    Weight embedding_, output_;
    Vector output_norm_, rope_factors_;
    Rope rope_;
    uint64_t weight_bytes_ = 0, bytes_per_token_ = 0;
};

}  // namespace ft
