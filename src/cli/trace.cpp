// freetoken trace: which experts each layer chose while prompts were answered, for `freetoken simulate`
// (docs/formats/routing_trace.md).
#include "tiers/trace.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "base/log.h"
#include "base/size_text.h"
#include "cli/conversation.h"
#include "cli/interrupt.h"
#include "cli/model_flags.h"
#include "cli/named_files.h"
#include "cli/run_model.h"
#include "cli/simulation.h"
#include "engine/engine.h"
#include "gguf/roles.h"
#include "gguf/summary.h"
#include "io/output_file.h"

namespace ft::cli {

namespace {

struct TraceFlags {
    std::vector<std::string> prompts;
    std::string output;
    bool raw = false;
};

// The mixture layers of a file: number in the file -> bytes of one expert.
std::map<int, uint64_t> mixture_layers(const Gguf& file, const Summary& summary) {
    std::map<int, uint64_t> layers;
    for (const TensorInfo& tensor : file.tensors()) {
        const int64_t layer = layer_of(tensor.name);
        const bool runs = layer >= 0 && layer < summary.n_layers.value_or(layer + 1);
        if (runs && tensor.name.find("_exps.weight") != std::string::npos)
            layers[static_cast<int>(layer)] += tensor.bytes / static_cast<uint64_t>(summary.n_experts);
    }
    return layers;
}

// What a trace says of a model before its first row, and where its layers are counted from.
struct TraceShape {
    Trace header;
    std::map<int, int> ordinal;  // number in the file -> among the mixture layers
};

Expected<TraceShape> trace_shape(const std::string& path) {
    const Expected<Gguf> file = Gguf::open(path);
    if (!file) return file.error();
    const Summary summary = summarise(*file);
    const std::map<int, uint64_t> layers =
        summary.n_experts > 0 ? mixture_layers(*file, summary) : std::map<int, uint64_t>();
    if (layers.empty())
        return Error{Code::unsupported,
                     fmt::format("{}: the model has no experts, so nothing is routed", path_text(path)),
                     "Name a mixture-of-experts model."};
    TraceShape shape;
    shape.header.model =
        summary.name.empty() ? std::filesystem::path(path).filename().string() : summary.name;
    shape.header.n_layers = static_cast<int>(layers.size());
    shape.header.n_experts = static_cast<int>(summary.n_experts);
    shape.header.top_k = static_cast<int>(summary.n_experts_used);
    for (const auto& [layer, bytes] : layers) {
        shape.ordinal.emplace(layer, static_cast<int>(shape.ordinal.size()));
        shape.header.expert_bytes.push_back(bytes);
    }
    return shape;
}

using Ids = std::vector<int32_t>;

Expected<Ids> prompt_ids(const RunModel& model, bool raw, const std::string& text) {
    if (raw) return raw_prompt(*model.tokenizer, text).ids;
    Conversation conversation(*model.chat_template, *model.tokenizer, std::nullopt);
    if (model.settings.has("inference.system"))
        conversation.set_system(model.settings.text("inference.system"));
    conversation.add_user(text);
    Expected<Prompt> prompt = conversation.prompt();
    if (!prompt) return prompt.error();
    return std::move(prompt->ids);
}

Status check_flags(const TraceFlags& flags) {
    if (flags.prompts.empty()) return require_flag("", "trace", "-p TEXT");
    for (const std::string& text : flags.prompts)
        if (Status s = require_flag(text, "trace", "-p TEXT"); !s) return s;
    return require_flag(flags.output, "trace", "-o TRACE");
}

// Answers the prompts one after the other, each a conversation of its own. Their tokens follow each other in
// the trace.
Expected<AnswerEnd> record_answers(RunModel& model, std::span<const Ids> prompts, const TraceShape& shape,
                                   TraceRecorder& recorder) {
    int64_t before = 0, n_token = 0;  // of earlier conversations; and with this one
    model.sequence->session().set_route_sink([&](const Route& route) {
        const int64_t token = before + route.position;
        n_token = std::max(n_token, token + 1);
        recorder.add(shape.ordinal.at(route.layer), token, route.experts);
    });
    AnswerRequest request;
    request.sampling = model.sampling;
    if (model.settings.has("inference.max_tokens"))
        request.max_tokens = model.settings.integer("inference.max_tokens");
    request.n_ctx = model.engine->n_ctx();
    request.stop = &interrupted();
    request.model = model.path;
    const auto is_end = [&](int32_t id) { return model.is_end(id); };
    const auto emit = [](int32_t) { return true; };
    AnswerEnd end = AnswerEnd::end_token;
    for (const Ids& prompt : prompts) {
        before = n_token;
        model.sequence->keep_prefix_of({});  // a beginning that is shared is routed again
        request.prompt = prompt;
        const Expected<Answer> answer = generate(*model.sequence, request, is_end, emit);
        if (!answer) return answer.error();
        end = answer->end;
        if (end == AnswerEnd::interrupted) break;
    }
    return end;
}

void say_what_was_recorded(const Trace& trace, size_t n_prompt, AnswerEnd end) {
    log("trace", "{} prompt tokens, {} of the answer{}; one token asks for {} experts, {}", trace.n_prompt,
        trace.n_tokens - trace.n_prompt, n_prompt > 1 ? " and of the conversations after it" : "",
        trace.demand_slots(), size_text(trace.demand_bytes()));
    if (trace.n_tokens - trace.n_prompt < k_few_trace_tokens && end != AnswerEnd::interrupted)
        log("trace",
            "that is a short trace, which says little of large caches: --max-tokens {} --ignore-eos goes on "
            "where the model would end",
            2 * k_few_trace_tokens);
}

Expected<int> record(const ModelChoice& choice, const TraceFlags& flags) {
    if (Status s = check_flags(flags); !s) return s.error();
    Expected<TraceShape> shape = trace_shape(choice.path);
    if (!shape) return shape.error();
    std::optional<OutputFile> output;
    std::vector<Ids> prompts;
    const auto before_weights = [&](const RunModel& outline, const ModelOutline& header) -> Status {
        const NamedFile result[] = {{"-o", flags.output}};
        if (Status s = check_outputs(result, files_of(choice, header.file)); !s) return s;
        for (const std::string& text : flags.prompts) {
            Expected<Ids> ids = prompt_ids(outline, flags.raw, text);
            if (!ids) return ids.error();
            if (Status s = check_room(static_cast<int64_t>(ids->size()), header.n_ctx); !s) return s;
            prompts.push_back(std::move(*ids));
        }
        Expected<OutputFile> created = OutputFile::create(flags.output);
        if (!created) return created.error();
        output.emplace(std::move(*created));
        return {};
    };
    Expected<RunModel> model = load_run_model(choice, flags.raw, before_weights);
    if (!model) return model.error();

    shape->header.n_prompt = static_cast<int64_t>(prompts.front().size());
    TraceRecorder recorder(std::move(shape->header));
    catch_interrupts();
    const Expected<AnswerEnd> end = record_answers(*model, prompts, *shape, recorder);
    if (!end) return end.error();

    const Trace trace = recorder.finish();
    const bool cut = *end == AnswerEnd::interrupted;
    if (cut && trace.n_tokens <= trace.n_prompt) {
        log("trace", "interrupted before the answer: no trace is written to {}", path_text(flags.output));
        return k_exit_interrupted;
    }
    const std::string text = trace_text(trace);
    if (Status s = output->write(std::as_bytes(std::span(text))); !s) return s.error();
    if (Status s = output->commit(); !s) return s.error();
    say_what_was_recorded(trace, prompts.size(), *end);
    if (cut)
        log("trace", "interrupted: the trace in {} is cut short and holds what was recorded until then",
            path_text(flags.output));
    return cut ? k_exit_interrupted : 0;
}

}  // namespace

Action define_trace(CLI::App& app) {
    const auto model_flags = add_model_flags(app, Use::answering);
    const auto flags = std::make_shared<TraceFlags>();
    app.add_option("-p,--prompt", flags->prompts,
                   "the text to answer; given again, the next, as a conversation of its own")
        ->type_name("TEXT")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.add_flag("--raw", flags->raw, "continue the text without chat template; special tokens in it count");
    app.add_option("-o,--output", flags->output, "the file for the trace")->type_name("FILE");
    return [=] {
        return with_model(*model_flags, [&](const ModelChoice& choice) { return record(choice, *flags); });
    };
}

}  // namespace ft::cli
