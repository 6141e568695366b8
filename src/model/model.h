// A model: its numbers, its layers and the memory that its weights lie in. Immutable once loaded.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "gguf/gguf.h"
#include "io/load.h"
#include "model/archs.h"
#include "model/ops.h"
#include "model/tensor_binder.h"
#include "tiers/expert_records.h"

namespace ft {

struct ModelLoad {
    bool experts = true;  // false: they are read when they are needed (tiers/expert_cache.h)
    // How files are opened; tests put slow and failing ones here.
    std::function<Expected<std::unique_ptr<File>>(const std::string& path)> open_file = &File::open;
    std::function<void(uint64_t done, uint64_t total)> progress;  // bytes
};

class Model {
 public:
    // Reads keys and tensor list, checks every shape, gives every weight its place. Nothing of the data is
    // read yet.
    // top_k: experts that a token uses in each layer; 0: the file's own number, more is refused.
    static Expected<std::unique_ptr<Model>> bind(const Gguf& file, int64_t top_k = 0);
    // Reads the weights. Errors name the file.
    Status load(const ModelLoad& how);
    // Where the experts lie, in the files that load() opened; size classes are all 0. Valid as long as the
    // model.
    ExpertRecords expert_records() const;
    // An error where a file was written to since load().
    Status check_files() const;

    const Hparams& hp() const { return hp_; }
    int own_top_k() const { return own_top_k_; }  // the file's; hp().top_k is what is used
    const Arch& arch() const { return *arch_; }
    const Rope& rope() const { return rope_; }
    std::span<const Layer> layers() const { return layers_; }
    KvShape kv_shape(KvTypes types) const;  // f16 where heads cannot be stored as asked
    RecurrentShape recurrent_shape() const;
    uint64_t weight_bytes() const { return weight_bytes_; }        // of all tensors in use
    uint64_t expert_bytes() const { return expert_bytes_; }        // of them, in routed experts
    uint64_t bytes_per_token() const { return bytes_per_token_; }  // of them, read for one generated token

    // Runs the blocks over the ids of the slices; the residual stream of every row is then in
    // ops.activity().x. Errors: experts could not be read; `stop` became true (Code::negative), which is
    // looked at before every layer. What the layers before it wrote to the slices' memory is then worth
    // nothing.
    Status forward(Ops& ops, std::span<const Slice> slices, std::span<const int32_t> ids,
                   const std::atomic<bool>* stop = nullptr) const;
    // Adds the rows [first, first + count) of the residual stream, normed as for the head, to sum [n_embd],
    // one after the other.
    void add_hidden(Ops& ops, int64_t first, int64_t count, std::span<double> sum) const;
    // Logits of rows [first, first + out.rows) of the residual stream; out [rows, n_vocab].
    void head(Ops& ops, int64_t first, View2<float> out) const;

 private:
    Model(const Gguf& file, WeightMemory memory)
        : file_(file), memory_(std::move(memory)), tensors_(file_, memory_) {}
    Status bind_tensors();
    Status choose_top_k(int64_t top_k);
    void count_bytes();
    std::vector<LoadRange> ranges(bool experts);

    const Gguf& file_;
    const Arch* arch_ = nullptr;
    Hparams hp_;
    int own_top_k_ = 0;
    WeightMemory memory_;
    TensorBinder tensors_;
    std::vector<Layer> layers_;
    std::unordered_set<const TensorInfo*> expert_tensors_;
    Weight embedding_, output_;
    Vector output_norm_, rope_factors_;
    Rope rope_;
    std::vector<std::unique_ptr<File>> files_;  // one for each part
    uint64_t weight_bytes_ = 0, expert_bytes_ = 0, bytes_per_token_ = 0;
};

}  // namespace ft
