#include <algorithm>

#include "base/bytes.h"
#include "base/size_text.h"
#include "cli/doctor.h"
#include "gguf/summary.h"
#include "gguf/tensor_type.h"
#include "model/archs.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace ft::cli {

namespace {

Check file_check(const Gguf& file, const Summary& summary) {
    Check check{.name = "gguf",
                .state = State::ok,
                .value = fmt::format("version {}, {}, {}", file.parts().front().version,
                                     summary.quantisation.empty() ? "no weights" : summary.quantisation,
                                     size_text(file.file_bytes())),
                .advice = ""};
    if (file.missing_bytes() > 0) {
        check.state = State::problem;
        check.advice = fmt::format("{} bytes are missing: download the file again.", file.missing_bytes());
    }
    return check;
}

Check types_check(const Gguf& file, const Summary& summary) {
    std::string names;
    for (const auto& [name, bytes] : summary.bytes_by_type) names += (names.empty() ? "" : ", ") + name;
    const auto unknown =
        std::find_if(file.tensors().begin(), file.tensors().end(),
                     [](const TensorInfo& tensor) { return !find_tensor_type(tensor.type); });
    if (unknown == file.tensors().end()) return {"types", State::ok, names, ""};
    return {"types", State::problem, names,
            fmt::format("{} has a type that is not known here: use a usual one, such as Q4_K_M.",
                        printable(unknown->name))};
}

Check architecture_check(const Gguf& file) {
    const auto arch = find_arch(file.architecture());
    if (arch) return {"architecture", State::ok, file.architecture(), ""};
    return {"architecture", State::problem, printable(file.architecture()), arch.error().sentence()};
}

Check router_check(const Gguf& file) {
    std::string type;
    bool coarse = false;
    for (const TensorInfo& tensor : file.tensors()) {
        if (tensor.name.find("ffn_gate_inp.") == std::string::npos) continue;
        const auto known = find_tensor_type(tensor.type);
        const bool below_16_bits = known && known->block_bytes < 2 * known->block_values;
        if (type.empty() || below_16_bits) type = tensor_type_name(tensor.type);
        coarse = coarse || below_16_bits;
    }
    if (type.empty()) return {"router", State::ok, "none: the model is dense", ""};
    if (!coarse) return {"router", State::ok, type, ""};
    return {"router", State::warning, type,
            "A router below 16 bits sends tokens to wrong experts, which gives fluent nonsense: use a file "
            "whose router "
            "is F32 or F16."};
}

Check template_check(const Summary& summary) {
    if (!summary.chat_template)
        return {"template", State::warning, "none",
                "Chat needs one: give it with --template, or use `run --raw`."};
    const auto parsed = ChatTemplate::parse(*summary.chat_template);
    if (parsed)
        return {"template", State::ok, fmt::format("{} characters", summary.chat_template->size()), ""};
    return {"template", State::warning, "does not parse",
            parsed.error().sentence() + " Give another one with --template."};
}

Check tokenizer_check(const Gguf& file, const Summary& summary) {
    const std::string value = fmt::format("{} {}, {} tokens", printable(summary.tokenizer_model),
                                          printable(summary.tokenizer_pre), summary.vocab_size.value_or(0));
    const auto tokenizer = Tokenizer::load(file);
    if (tokenizer) return {"tokenizer", State::ok, value, ""};
    return {"tokenizer", State::problem, value, tokenizer.error().sentence()};
}

}  // namespace

std::vector<Check> model_checks(const Gguf& file) {
    const Summary summary = summarise(file);
    return {file_check(file, summary), types_check(file, summary), architecture_check(file),
            router_check(file),        template_check(summary),    tokenizer_check(file, summary)};
}

Check broken_model_check(const Error& error) {
    return {"gguf", State::problem, error.what, error.remedy.empty() ? "Get the file again." : error.remedy};
}

PlannedModel::PlannedModel(const Machine& on, ModelShape of, const PlanSettings& asked)
    : machine(on), shape(std::move(of)), settings(asked), plan(ft::plan(machine, shape, settings)) {}

Check plan_check(const PlannedModel& model) {
    const Plan& p = model.plan;
    if (!p.fits)
        return {"plan", State::problem, "does not fit: " + p.shortage,
                shortage_remedy(model.machine, model.shape, model.settings, p)};
    return {"plan", State::ok,
            fmt::format("takes {} of {} of RAM, for {} tokens of context", size_text(p.total.ram),
                        size_text(p.ram_budget), p.n_ctx),
            ""};
}

Bottleneck bottleneck_of(const PlannedModel& model, const MachineProfile& profile) {
    const ModelShape& shape = model.shape;
    const Plan& p = model.plan;
    Bottleneck b{.model = shape.name, .predicted = {}, .text = ""};
    if (!p.fits) {
        b.text = fmt::format("{} does not fit: {}.", printable(shape.name), p.shortage);
        return b;
    }
    b.predicted = predict(model.machine, shape, p, profile);
    const char* what = b.predicted->limit == Limit::drive ? "the drive"
                       : b.predicted->limit == Limit::cpu ? "the processor"
                                                          : "the bandwidth of RAM";
    b.text = fmt::format(
        "For {} the limit is {}: about {:.2f} tok/s, {}.", printable(shape.name), what,
        b.predicted->decode_per_second,
        p.experts_resident ? "with every expert in RAM"
                           : fmt::format("with {} of {} experts in RAM", p.n_ram_slots(), shape.n_experts()));
    return b;
}

ModelShape example_shape() {
    ModelShape shape;
    shape.name = "a 35B-A3B mixture at Q4_K_M";
    shape.n_layer = 40;
    shape.n_ctx_model = 262144;
    shape.classes = {{{589824, 589824, 589824}, 20 * 256, 8}, {{589824, 589824, 860160}, 20 * 256, 8}};
    for (int i = 0; i < shape.n_layer; i++) shape.mixtures.push_back({i % 2, 256, 8});
    shape.parts = {{"embedding", 286064640, 1152, false},
                   {"head", 417177600, 417177600, true},
                   {"attention and delta net", 900000000, 900000000, true}};
    shape.kv_bytes_per_token = 20480;
    shape.kv_page_tokens = 128;
    shape.state_bytes = 65863680;
    shape.scratch_fixed = 16 * k_mib;
    shape.scratch_per_token = 240 * k_kib;
    shape.program_bytes = 100 * k_mib;
    shape.active_parameters = 2.95e9;
    return shape;
}

}  // namespace ft::cli
