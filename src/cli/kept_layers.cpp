#include "cli/kept_layers.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/ascii.h"
#include "gguf/gguf.h"
#include "gguf/quantisation.h"
#include "gguf/roles.h"
#include "gguf/tensor_type.h"

namespace ft::cli {

namespace {

struct KeptLayer {
    std::string_view name;
    Role role;
    bool loud;
    std::string_view why;
};
constexpr KeptLayer k_kept[] = {
    {"router", Role::router, true,
     "tokens go to the wrong experts, and text loses its thread. Use a file whose router is F16 or F32"},
    {"norm", Role::norms, true, "every layer suffers. Use a file whose norms are F32"},
    {"embed", Role::embedding, false, "most files have it so, and answers change little"},
};

const KeptLayer* find_kept(std::string_view name) {
    const auto found = std::find_if(std::begin(k_kept), std::end(k_kept),
                                    [&](const KeptLayer& layer) { return layer.name == name; });
    return found == std::end(k_kept) ? nullptr : &*found;
}

// 16 bits and more for each value.
bool is_wide(uint32_t type) {
    const std::optional<TensorType> known = find_tensor_type(type);
    return !known || 8 * known->block_bytes >= 16 * known->block_values;
}

}  // namespace

Status check_kept_layers(const Settings& settings) {
    for (const std::string& name : settings.list("model.keep_fp16_layers"))
        if (!find_kept(name))
            return Error{Code::invalid,
                         fmt::format("model.keep_fp16_layers ({}): {} is no kind of layer",
                                     settings.origin("model.keep_fp16_layers"), printable(name)),
                         "There are router, norm and embed."};
    return {};
}

std::vector<FileNote> file_notes(const Settings& settings, const Gguf& file, const std::string& path) {
    std::vector<FileNote> notes;
    const std::string name = std::filesystem::path(path).filename().string();
    const std::string quantisation = quantisation_name(file);
    if (settings.has("model.quant") && !same_in_any_case(settings.text("model.quant"), quantisation))
        notes.push_back({true, fmt::format("model.quant is {}, but {} is {}",
                                           printable(settings.text("model.quant")), name, quantisation)});
    const std::vector<TensorInfo>& tensors = file.tensors();
    const std::vector<Role> roles = roles_of(tensors, std::numeric_limits<int64_t>::max());
    for (const std::string& kept_name : settings.list("model.keep_fp16_layers")) {
        const KeptLayer* kept = find_kept(kept_name);
        for (size_t i = 0; kept && i < tensors.size(); i++) {
            if (roles[i] != kept->role || is_wide(tensors[i].type)) continue;
            notes.push_back(
                {kept->loud,
                 fmt::format("model.keep_fp16_layers names {}, but in {} '{}' is {}: {}", kept_name, name,
                             tensors[i].name, tensor_type_name(tensors[i].type), kept->why)});
            break;
        }
    }
    return notes;
}

}  // namespace ft::cli
