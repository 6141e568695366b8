#include "model/model.h"

#include <algorithm>

#include "base/log.h"

namespace ft {

Expected<std::unique_ptr<Model>> Model::bind(const Gguf& file, int64_t top_k) {
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
    if (Status s = model->choose_top_k(top_k); !s) return s.error().within(file.path());
    model->count_bytes();
    return model;
}

Status Model::choose_top_k(int64_t top_k) {
    own_top_k_ = hp_.top_k;
    if (top_k == 0) return {};
    if (top_k > own_top_k_)
        return Error{
            Code::invalid,
            fmt::format("inference.top_k_experts is {}, but the model was made for {}{}", top_k, own_top_k_,
                        own_top_k_ == 0 ? ": it has no experts" : " experts for each token"),
            own_top_k_ == 0 ? "Leave the setting out." : fmt::format("Choose {} or less.", own_top_k_)};
    hp_.top_k = static_cast<int>(top_k);
    return {};
}

Status Model::bind_tensors() {
    tensors_.set_layer(-1);
    embedding_ = tensors_.weight("token_embd", hp_.n_embd, hp_.n_vocab);
    output_ = tensors_.has("output") ? tensors_.weight("output", hp_.n_embd, hp_.n_vocab) : embedding_;
    tensors_.vector("output_norm.weight", hp_.n_embd, output_norm_);
    tensors_.optional_vector("rope_freqs.weight", hp_.rope.n_rot / 2, rope_factors_);
    layers_.resize(hp_.n_layer);
    int n_kv = 0, n_state = 0, n_mixture = 0;
    for (int il = 0; il < hp_.n_layer; il++) {
        Layer& layer = layers_[il];
        layer.index = il;
        (hp_.is_recurrent(il) ? layer.state_index : layer.kv_index) =
            hp_.is_recurrent(il) ? n_state++ : n_kv++;
        tensors_.set_layer(il);
        if (Status s = arch_->bind(tensors_, hp_, layer); !s) return s;
        if (layer.is_mixture()) layer.mixture.index = n_mixture++;
    }
    const Layer* next = nullptr;
    for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
        layer->next_mixture = next;
        if (layer->is_mixture()) next = &*layer;
    }
    return tensors_.status();
}

namespace {

// The tensors of a layer's experts, by slice.
std::vector<const TensorInfo*> expert_tensors(const MixtureWeights& m) {
    std::vector<const TensorInfo*> tensors(static_cast<size_t>(m.down.slice) + 1);
    for (const ExpertStack* stack : {&m.gate, &m.up, &m.down})
        tensors[static_cast<size_t>(stack->slice)] = stack->tensor;
    return tensors;
}

}  // namespace

void Model::count_bytes() {
    for (const Layer& layer : layers_) {
        if (!layer.is_mixture()) continue;
        for (const TensorInfo* tensor : expert_tensors(layer.mixture)) {
            expert_tensors_.insert(tensor);
            expert_bytes_ += tensor->bytes;
            bytes_per_token_ +=
                tensor->bytes / static_cast<uint64_t>(hp_.n_expert) * static_cast<uint64_t>(hp_.top_k);
        }
    }
    for (const TensorInfo* tensor : tensors_.bound()) {
        weight_bytes_ += tensor->bytes;
        const bool table = tensor->name == "token_embd.weight" && output_.data != embedding_.data;
        if (table) bytes_per_token_ += embedding_.row_bytes;
        else if (!expert_tensors_.contains(tensor)) bytes_per_token_ += tensor->bytes;
    }
}

// In the order of the files.
std::vector<LoadRange> Model::ranges(bool experts) {
    std::vector<LoadRange> ranges;
    for (const TensorInfo* tensor : tensors_.bound())
        if (experts || !expert_tensors_.contains(tensor))
            ranges.push_back(
                {files_[tensor->part].get(), tensor->offset, {memory_.at(*tensor), tensor->bytes}});
    std::sort(ranges.begin(), ranges.end(),
              [](const LoadRange& a, const LoadRange& b) { return a.to.data() < b.to.data(); });
    return ranges;
}

Status Model::load(const ModelLoad& how) {
    for (const Gguf::Part& part : file_.parts()) {
        auto file = how.open_file(part.path);
        if (!file) return file.error();
        if (Status s = file_.check_part(static_cast<int>(files_.size()), **file); !s) return s;
        files_.push_back(std::move(*file));
    }
    const std::vector<LoadRange> to_read = ranges(how.experts);
    memory_.prefer_huge_pages(to_read);
    LoadSettings settings;
    settings.progress = how.progress;
    if (Status s = load_ranges(to_read, settings); !s) return s;
    if (Status s = check_files(); !s) return s;
    tensors_.convert();
    rope_ = Rope(hp_.rope, rope_factors_);
    if (const auto unused = tensors_.unused(hp_.n_layer); !unused.empty())
        log("load", "{} tensors of the file are not used, the first is {}", unused.size(), unused.front());
    return {};
}

ExpertRecords Model::expert_records() const {
    ExpertRecords records;
    for (const Layer& layer : layers_) {
        if (!layer.is_mixture()) continue;
        ExpertLayer record{.size_class = 0, .n_expert = hp_.n_expert, .stacks = {}};
        for (const TensorInfo* tensor : expert_tensors(layer.mixture))
            record.stacks.push_back({files_.empty() ? nullptr : files_[tensor->part].get(), tensor->offset,
                                     tensor->bytes / static_cast<uint64_t>(hp_.n_expert)});
        records.push_back(std::move(record));
    }
    return records;
}

Status Model::check_files() const {
    for (const auto& file : files_)
        if (Status s = file->check_unchanged(); !s) return s;
    return {};
}

KvShape Model::kv_shape(KvTypes types) const {
    const auto n_kv =
        std::count_if(layers_.begin(), layers_.end(), [](const Layer& l) { return l.kv_index >= 0; });
    KvShape shape{.n_layer = static_cast<int>(n_kv),
                  .n_head_kv = hp_.n_head_kv,
                  .dim_k = static_cast<int>(hp_.dim_k),
                  .dim_v = static_cast<int>(hp_.dim_v)};
    shape.store_as(types);
    return shape;
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

Status Model::forward(Ops& ops, std::span<const Slice> slices, std::span<const int32_t> ids,
                      const std::atomic<bool>* stop) const {
    ops.begin(slices);
    const View2<float> x = ops.activity().x;
    for (int64_t i = 0; i < x.rows; i++)
        embedding_.type->dequantise(embedding_.data + static_cast<size_t>(ids[i]) * embedding_.row_bytes,
                                    x.row(i), x.cols);
    for (const Layer& layer : layers_) {
        if (stop != nullptr && stop->load(std::memory_order_relaxed))
            return Error{Code::negative, "stopped in the middle of a step", ""};
        arch_->block(ops, layer);
        if (Status s = ops.status(); !s) return s;
    }
    return {};
}

void Model::add_hidden(Ops& ops, int64_t first, int64_t count, std::span<double> sum) const {
    const View2<float> x = ops.activity().x, h = ops.activity().h.first(count);
    ops.rms_norm({x.row(first), count, x.cols, x.stride}, output_norm_, h);
    for (int64_t row = 0; row < count; row++)
        for (size_t i = 0; i < sum.size(); i++) sum[i] += static_cast<double>(h.row(row)[i]);
}

void Model::head(Ops& ops, int64_t first, View2<float> out) const {
    const View2<float> x = ops.activity().x, h = ops.activity().h.first(out.rows);
    ops.rms_norm({x.row(first), out.rows, x.cols, x.stride}, output_norm_, h);
    ops.linear(h, {{output_, out}});
}

}  // namespace ft
