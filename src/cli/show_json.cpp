#include <nlohmann/json.hpp>

#include "cli/json_text.h"
#include "cli/show_report.h"
#include "gguf/tensor_type.h"

namespace ft::cli {

namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json experts_json(const Summary& summary) {
    Json sizes = Json::array();
    for (const ExpertSizeClass& size : summary.expert_sizes)
        sizes.push_back({{"bytes", size.bytes}, {"layers", size.n_layers}});
    return {{"count", summary.n_experts}, {"per_token", summary.n_experts_used}, {"size_classes", sizes}};
}

// The six roles that every reader may expect are there, with 0 where the model has no such part.
Json bytes_json(const Summary& summary) {
    Json by_role = Json::object();
    for (int i = 0; i < k_roles; i++) {
        const auto role = static_cast<Role>(i);
        const bool expected = role == Role::experts || role == Role::attention || role == Role::delta_net ||
                              role == Role::shared || role == Role::embedding || role == Role::head;
        const uint64_t bytes = summary.bytes_by_role[static_cast<size_t>(i)];
        if (expected || bytes > 0) by_role[role_name(role)] = bytes;
    }
    return {{"total", summary.tensor_bytes}, {"by_role", by_role}, {"by_type", summary.bytes_by_type}};
}

Json files_json(const Gguf& gguf) {
    Json files = Json::array();
    for (const Gguf::Part& part : gguf.parts())
        files.push_back({{"path", part.path}, {"bytes", part.size_bytes}});
    return files;
}

Json tensors_json(const Gguf& gguf) {
    Json tensors = Json::array();
    for (const TensorInfo& tensor : gguf.tensors()) {
        const std::vector<int64_t> shape(tensor.dims.begin(), tensor.dims.begin() + tensor.n_dims);
        tensors.push_back({{"name", tensor.name},
                           {"shape", shape},
                           {"type", tensor_type_name(tensor.type)},
                           {"bytes", tensor.bytes}});
    }
    return tensors;
}

}  // namespace

std::string show_json(const Gguf& gguf, const Summary& summary, bool with_tensors) {
    Json json = {
        {"architecture", text_or_null(summary.architecture)},
        {"name", text_or_null(summary.name)},
        {"license", text_or_null(summary.license)},
        {"gguf_version", gguf.parts().front().version},
        {"files", files_json(gguf)},
        {"quantisation", text_or_null(summary.quantisation)},
        {"mixture", summary.n_experts > 0},
        {"context_length", or_null(summary.context_length)},
        {"layers", or_null(summary.n_layers)},
        {"mtp_layers", summary.n_mtp_layers},
        {"parameters", {{"total", summary.total_parameters}, {"active", summary.active_parameters}}},
        {"experts", experts_json(summary)},
        {"bytes", bytes_json(summary)},
        {"kv_bytes_per_token", or_null(summary.kv_bytes_per_token)},
        {"tokenizer",
         {{"model", text_or_null(summary.tokenizer_model)},
          {"pre", text_or_null(summary.tokenizer_pre)},
          {"vocab_size", or_null(summary.vocab_size)}}},
        {"chat_template", or_null(summary.chat_template)},
        {"missing_bytes", gguf.missing_bytes()},
        {"warnings", summary.warnings},
    };
    if (with_tensors) json["tensors"] = tensors_json(gguf);
    return json_text(json, 2);
}

}  // namespace ft::cli
