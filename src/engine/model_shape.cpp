#include "engine/model_shape.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "gguf/roles.h"
#include "io/load.h"
#include "model/guess_routers.h"
#include "model/ops.h"

namespace ft {

namespace {

// Memory of the process that no tensor explains: code and stacks, and for each byte of the header the tables
// that tokenizer and metadata make of it. The loader's buffers are counted beside it.
constexpr uint64_t k_program_bytes = 24 * k_mib;
constexpr uint64_t k_bytes_per_header_byte = 6;
constexpr uint64_t k_logit_rows = 17;  // rows of logits that a session keeps

const char* part_name(Role role) {
    switch (role) {
        case Role::delta_net:
            return "delta net";
        case Role::shared:
            return "shared experts";
        case Role::router:
            return "routers";
        case Role::feed_forward:
            return "dense feed-forward";
        default:
            return role_name(role);
    }
}

void add_parts(const Gguf& file, const Hparams& hp, ModelShape& shape) {
    std::array<uint64_t, k_roles> bytes{};
    const std::vector<Role> roles = roles_of(file.tensors(), hp.n_layer);
    for (size_t i = 0; i < roles.size(); i++) bytes[static_cast<size_t>(roles[i])] += file.tensors()[i].bytes;
    const bool tied = file.find_tensor("output.weight") == nullptr;
    for (int i = 0; i < k_roles; i++) {
        const auto role = static_cast<Role>(i);
        const uint64_t n = bytes[static_cast<size_t>(i)];
        if (n == 0 || role == Role::experts || role == Role::mtp) continue;
        StaticPart part{.name = part_name(role), .bytes = n, .read_per_token = n, .on_card = true};
        if (role == Role::embedding && tied) part.name = "embedding and head";
        if (role == Role::embedding && !tied) {
            part.read_per_token = n / static_cast<uint64_t>(std::max<int64_t>(1, hp.n_vocab));
            part.on_card = false;
        }
        shape.parts.push_back(part);
    }
}

// Bytes of each slice of one expert of a layer; empty where it has no mixture.
std::vector<uint64_t> slices_of(const Gguf& file, int layer, int n_expert) {
    std::vector<uint64_t> slices;
    for (const char* name : {"ffn_gate_up_exps", "ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"}) {
        const TensorInfo* tensor = file.find_tensor(fmt::format("blk.{}.{}.weight", layer, name));
        if (tensor != nullptr) slices.push_back(tensor->bytes / static_cast<uint64_t>(n_expert));
    }
    return slices;
}

void add_experts(const Gguf& file, const Model& model, ModelShape& shape) {
    const Hparams& hp = model.hp();
    for (const Layer& layer : model.layers()) {
        if (!layer.is_mixture()) continue;
        const std::vector<uint64_t> slices = slices_of(file, layer.index, hp.n_expert);
        auto found = std::find_if(shape.classes.begin(), shape.classes.end(),
                                  [&](const ExpertClass& c) { return c.slices == slices; });
        if (found == shape.classes.end()) {
            shape.classes.push_back({slices, 0, hp.top_k});
            found = std::prev(shape.classes.end());
        }
        found->n_experts += hp.n_expert;
        shape.mixtures.push_back({static_cast<int>(found - shape.classes.begin()), hp.n_expert, hp.top_k});
    }
}

double active_parameters(const Gguf& file, const Hparams& hp) {
    double sum = 0;
    const std::vector<Role> roles = roles_of(file.tensors(), hp.n_layer);
    for (size_t i = 0; i < roles.size(); i++) {
        const auto n = static_cast<double>(file.tensors()[i].n_values());
        const bool rows_only = roles[i] == Role::embedding && file.find_tensor("output.weight") != nullptr;
        if (roles[i] == Role::mtp || rows_only) continue;
        sum += roles[i] == Role::experts && hp.n_expert > 0 ? n * hp.top_k / hp.n_expert : n;
    }
    return sum;
}

}  // namespace

ModelShape model_shape(const Gguf& file, const Model& model, KvTypes kv_types, const Kernels& kernels,
                       int n_thread) {
    const Hparams& hp = model.hp();
    ModelShape shape;
    shape.name = file.path().substr(file.path().find_last_of('/') + 1);
    shape.n_layer = hp.n_layer;
    shape.n_ctx_model = hp.n_ctx_model;
    add_parts(file, hp, shape);
    add_experts(file, model, shape);
    shape.kv_bytes_per_token = model.kv_shape(kv_types).bytes_per_token();
    const uint64_t as_int8 = model.kv_shape({KvType::q8_0, KvType::q8_0}).bytes_per_token();
    if (as_int8 < shape.kv_bytes_per_token) shape.kv_int8_bytes_per_token = as_int8;
    shape.kv_page_tokens = k_kv_block;
    shape.state_bytes = model.recurrent_shape().bytes();
    const ScratchBytes scratch = Ops::planned_scratch(hp, kernels, model.rope(), n_thread);
    shape.scratch_per_token = scratch.per_token;
    shape.scratch_fixed = scratch.fixed + static_cast<uint64_t>(hp.n_vocab) * sizeof(float) * k_logit_rows;
    shape.guess_bytes = GuessRouters::bytes_of(model.layers());
    uint64_t header = 0;
    for (const Gguf::Part& part : file.parts()) header += part.data_start;
    uint64_t resident = 0;  // whatever the budget; while experts are loaded as well, slots are not there yet
    for (const StaticPart& part : shape.parts) resident += part.bytes;
    shape.program_bytes = k_program_bytes + load_memory_bytes(resident) + k_bytes_per_header_byte * header;
    shape.active_parameters = active_parameters(file, hp);
    return shape;
}

}  // namespace ft
