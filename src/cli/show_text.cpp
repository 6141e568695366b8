#include <algorithm>

#include "base/bytes.h"
#include "base/size_text.h"
#include "cli/show_report.h"
#include "gguf/tensor_type.h"

namespace ft::cli {

namespace {

constexpr size_t k_label_width = 16;

// 30,532,122,624
std::string grouped(uint64_t number) {
    std::string digits = fmt::format("{}", number);
    for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
    return digits;
}

// "30.5 billion": as people name models; small ones in full.
std::string parameters_text(uint64_t n) {
    if (n >= 1000000000) return fmt::format("{:.2f} billion", static_cast<double>(n) / 1e9);
    if (n >= 1000000) return fmt::format("{:.1f} million", static_cast<double>(n) / 1e6);
    return grouped(n);
}

void add_line(std::string& out, std::string_view label, std::string_view text) {
    out += fmt::format("{:<{}}{}\n", label, k_label_width, text);
}

void add_head(std::string& out, const Gguf& gguf, const Summary& summary) {
    const size_t n_parts = gguf.parts().size();
    const std::string path = path_text(gguf.path());
    out += summary.name.empty() ? path + "\n" : printable(summary.name) + "\n" + path + "\n";
    out += fmt::format("GGUF version {}, {}{}\n\n", gguf.parts().front().version,
                       size_text(gguf.file_bytes()), n_parts > 1 ? fmt::format(" in {} parts", n_parts) : "");
}

void add_model(std::string& out, const Summary& summary) {
    const char* kind = summary.n_experts > 0 ? "mixture of experts" : "dense";
    if (summary.architecture.empty()) add_line(out, "Architecture", "the file does not say");
    else if (!summary.n_layers) add_line(out, "Architecture", printable(summary.architecture));
    else add_line(out, "Architecture", fmt::format("{}, {}", printable(summary.architecture), kind));
    if (!summary.quantisation.empty()) add_line(out, "Quantisation", summary.quantisation);
    if (summary.total_parameters == 0) {
        add_line(out, "Parameters", "none: a vocabulary without weights");
    } else {
        const bool all = summary.active_parameters == summary.total_parameters;
        add_line(
            out, "Parameters",
            parameters_text(summary.total_parameters) +
                (all ? ""
                     : fmt::format(", {} active per token", parameters_text(summary.active_parameters))));
    }
    if (summary.n_layers) {
        const int64_t mtp = summary.n_mtp_layers;
        add_line(out, "Layers",
                 fmt::format("{}{}", *summary.n_layers,
                             mtp > 0 ? fmt::format(", and {} for multi-token prediction", mtp) : ""));
    }
}

void add_experts(std::string& out, const Summary& summary) {
    if (summary.n_experts == 0) return;
    add_line(out, "Experts",
             fmt::format("{} in each layer, {} per token", summary.n_experts, summary.n_experts_used));
    for (const ExpertSizeClass& size : summary.expert_sizes)
        add_line(out, &size == &summary.expert_sizes.front() ? "  one expert" : "",
                 fmt::format("{} in {} {}", size_text(size.bytes), size.n_layers,
                             size.n_layers == 1 ? "layer" : "layers"));
}

void add_context(std::string& out, const Summary& summary) {
    if (summary.context_length)
        add_line(out, "Context", grouped(static_cast<uint64_t>(*summary.context_length)) + " tokens");
    if (!summary.kv_bytes_per_token) return;
    std::string text = size_text(*summary.kv_bytes_per_token) + " per token";
    const std::optional<uint64_t> whole =
        checked_mul(*summary.kv_bytes_per_token, static_cast<uint64_t>(summary.context_length.value_or(0)));
    if (whole && *whole > 0) text += fmt::format(", {} for the whole context", size_text(*whole));
    add_line(out, "KV cache (f16)", text);
}

void add_text(std::string& out, const Summary& summary) {
    std::string tokenizer = summary.tokenizer_model.empty() ? "none" : printable(summary.tokenizer_model);
    if (!summary.tokenizer_pre.empty()) tokenizer += fmt::format(" ({})", printable(summary.tokenizer_pre));
    if (summary.vocab_size)
        tokenizer += fmt::format(", {} tokens", grouped(static_cast<uint64_t>(*summary.vocab_size)));
    add_line(out, "Tokenizer", tokenizer);
    add_line(out, "Chat template",
             summary.chat_template ? fmt::format("yes, {} bytes", grouped(summary.chat_template->size()))
                                   : "none");
    add_line(out, "Licence", summary.license.empty() ? "the file does not say" : printable(summary.license));
}

struct Share {
    std::string name;
    uint64_t bytes;
};

// The largest first, each with its part of the whole.
void add_shares(std::string& out, std::string_view title, std::vector<Share> shares, uint64_t total) {
    std::erase_if(shares, [](const Share& share) { return share.bytes == 0; });
    if (shares.empty()) return;
    std::sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) {
        return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name;
    });
    out += fmt::format("\n{}\n", title);
    for (const Share& share : shares)
        out +=
            fmt::format("  {:<{}}{:>11}  {:>5.1f} %\n", share.name, k_label_width - 2, size_text(share.bytes),
                        100.0 * static_cast<double>(share.bytes) / static_cast<double>(total));
}

std::string role_title(Role role) {
    std::string name = role == Role::mtp ? "multi-token" : role_name(role);
    std::replace(name.begin(), name.end(), '_', ' ');
    return name;
}

void add_bytes(std::string& out, const Summary& summary) {
    std::vector<Share> roles;
    for (int i = 0; i < k_roles; i++)
        roles.push_back({role_title(static_cast<Role>(i)), summary.bytes_by_role[static_cast<size_t>(i)]});
    std::vector<Share> types;
    for (const auto& [name, bytes] : summary.bytes_by_type) types.push_back({name, bytes});
    add_shares(out, "Weights by role", std::move(roles), summary.tensor_bytes);
    add_shares(out, "Weights by type", std::move(types), summary.tensor_bytes);
}

}  // namespace

std::string show_text(const Gguf& gguf, const Summary& summary) {
    std::string out;
    add_head(out, gguf, summary);
    add_model(out, summary);
    add_experts(out, summary);
    add_context(out, summary);
    add_text(out, summary);
    add_bytes(out, summary);
    for (const std::string& warning : summary.warnings)
        out += fmt::format("{}  {}\n", &warning == &summary.warnings.front() ? "\nWarnings\n" : "",
                           printable(warning, 500));
    return out;
}

std::string tensor_text(const Gguf& gguf) {
    size_t name_width = 0;
    for (const TensorInfo& tensor : gguf.tensors())
        name_width = std::max(name_width, std::min<size_t>(printable(tensor.name).size(), 60));
    std::string out = "\nTensors\n";
    for (const TensorInfo& tensor : gguf.tensors()) {
        std::string shape;
        for (int i = 0; i < tensor.n_dims; i++)
            shape += fmt::format("{}{}", i == 0 ? "" : " × ", tensor.dims[static_cast<size_t>(i)]);
        out += fmt::format("  {:<{}}  {:<8}{:>11}  {}\n", printable(tensor.name), name_width,
                           tensor_type_name(tensor.type), size_text(tensor.bytes), shape);
    }
    return out;
}

}  // namespace ft::cli
