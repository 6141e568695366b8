#include "model/model.h"

#include <algorithm>

#include "base/log.h"
#include "io/load.h"

namespace ft {

Expected<std::unique_ptr<Model>> Model::bind(const Gguf& file) {
    auto arch = find_arch(file.architecture());
    if (!arch) return arch.error().within(file.path());
    auto hp = read_hparams(file, **arch);
    if (!hp) return hp.error().within(file.path());
    auto memory = WeightMemory::reserve(file);
    if (!memory) return memory.error();
    std::unique_ptr<Model> model(new Model(file, std::move(*memory)));
    model->arch_ = *arch;
    model->hp_ = std::move(*hp);
    if (Status s = model->bind_tensors(); !s) return s.error().within(file.path());
    model->count_bytes();
    return model;
}

Status Model::bind_tensors() {
    tensors_.set_layer(-1);
    embedding_ = tensors_.weight("token_embd", hp_.n_embd, hp_.n_vocab);
    output_ = tensors_.has("output") ? tensors_.weight("output", hp_.n_embd, hp_.n_vocab) : embedding_;
    tensors_.vector("output_norm.weight", hp_.n_embd, output_norm_);
    tensors_.optional_vector("rope_freqs.weight", hp_.rope.n_rot / 2, rope_factors_);
    layers_.resize(hp_.n_layer);
    int n_kv = 0, n_state = 0;
    for (int il = 0; il < hp_.n_layer; il++) {
        Layer& layer = layers_[il];
        layer.index = il;
        (hp_.is_recurrent(il) ? layer.state_index : layer.kv_index) =
            hp_.is_recurrent(il) ? n_state++ : n_kv++;
        tensors_.set_layer(il);
        if (Status s = arch_->bind(tensors_, hp_, layer); !s) return s;
    }
    return tensors_.status();
}

void Model::count_bytes() {
    for (const TensorInfo* tensor : tensors_.bound()) {
        weight_bytes_ += tensor->bytes;
        const bool experts = tensor->name.find("_exps.") != std::string::npos;
        const bool table = tensor->name == "token_embd.weight" && output_.data != embedding_.data;
        if (table) bytes_per_token_ += embedding_.row_bytes;
        else bytes_per_token_ += experts ? tensor->bytes / hp_.n_expert * hp_.top_k : tensor->bytes;
    }
}

Status Model::load(const std::function<void(uint64_t done, uint64_t total)>& progress) {
    std::vector<std::unique_ptr<File>> files;
    for (const Gguf::Part& part : file_.parts()) {
        auto file = File::open(part.path);
        if (!file) return file.error();
        files.push_back(std::move(*file));
    }
    std::vector<LoadRange> ranges;
    for (const TensorInfo* tensor : tensors_.bound())
        ranges.push_back({files[tensor->part].get(), tensor->offset, {memory_.at(*tensor), tensor->bytes}});
    std::sort(ranges.begin(), ranges.end(),
              [](const LoadRange& a, const LoadRange& b) { return a.to.data() < b.to.data(); });
    LoadSettings settings;
    settings.progress = progress;
    if (Status s = load_ranges(ranges, settings); !s) return s;
    tensors_.convert();
    rope_ = Rope(hp_.rope, rope_factors_);
    if (const auto unused = tensors_.unused(hp_.n_layer); !unused.empty())
        log("load", "{} tensors of the file are not used, the first is {}", unused.size(), unused.front());
    return {};
}

KvShape Model::kv_shape(int64_t n_ctx, KvType type) const {
    const auto n_kv =
        std::count_if(layers_.begin(), layers_.end(), [](const Layer& l) { return l.kv_index >= 0; });
    return KvShape{.n_layer = static_cast<int>(n_kv),
                   .n_head_kv = hp_.n_head_kv,
                   .dim_k = static_cast<int>(hp_.dim_k),
                   .dim_v = static_cast<int>(hp_.dim_v),
                   .n_ctx = n_ctx,
                   .type = type};
}

RecurrentShape Model::recurrent_shape() const {
    if (!hp_.has_recurrent()) return {};
    const auto n =
        std::count_if(layers_.begin(), layers_.end(), [](const Layer& l) { return l.state_index >= 0; });
    return RecurrentShape{.n_layer = static_cast<int>(n),
                          .n_head = hp_.ssm_n_head_v,
                          .dim = hp_.ssm_state,
                          .n_channel = hp_.ssm_channels(),
                          .n_history = hp_.ssm_conv_taps - 1};
}

void Model::forward(Ops& ops, std::span<const Slice> slices, std::span<const int32_t> ids) const {
    ops.begin(slices);
    const View2<float> x = ops.activity().x;
    for (int64_t i = 0; i < x.rows; i++)
        embedding_.type->dequantise(embedding_.data + static_cast<size_t>(ids[i]) * embedding_.row_bytes,
                                    x.row(i), x.cols);
    for (const Layer& layer : layers_) arch_->block(ops, layer);
}

void Model::head(Ops& ops, int64_t first, View2<float> out) const {
    const View2<float> x = ops.activity().x, h = ops.activity().h.first(out.rows);
    ops.rms_norm({x.row(first), out.rows, x.cols, x.stride}, output_norm_, h);
    ops.linear(h, {{output_, out}});
}

}  // namespace ft
