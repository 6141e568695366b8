#include "cli/run_model.h"

#include "cli/load_engine.h"
#include "cli/model_text.h"

namespace ft::cli {

namespace {

void take_defaults(RunModel& model, RequestDefaults defaults) {
    Request& request = defaults.request;
    if (defaults.ignore_eos) request.ignore_end();
    model.sampling = std::move(request.sampling);
    model.stop = std::move(request.stop);
    model.end_ids = std::move(request.end_ids);
}

}  // namespace

Status take_answer_settings(RunModel& model) {
    Expected<RequestDefaults> defaults = request_defaults(model.settings, *model.tokenizer);
    if (!defaults) return defaults.error();
    take_defaults(model, std::move(*defaults));
    return {};
}

Expected<RunModel> load_run_model(const ModelChoice& choice, bool raw, const BeforeWeights& before_weights) {
    Expected<ModelText> text = load_model_text(choice, raw ? TemplateUse::none : TemplateUse::needed);
    if (!text) return text.error();
    RunModel model;
    model.path = choice.path;
    model.name = std::move(text->name);
    model.settings = std::move(text->settings);
    model.tokenizer = std::move(text->tokenizer);
    model.chat_template = std::move(text->chat_template);
    take_defaults(model, std::move(text->defaults));
    LoadOptions options = load_options(choice);
    if (before_weights)
        options.before_weights = [&](const ModelOutline& outline) { return before_weights(model, outline); };
    Expected<std::unique_ptr<Engine>> engine = load_engine(options);
    if (!engine) return engine.error();
    model.engine = std::move(*engine);
    Expected<std::unique_ptr<Session>> session = model.engine->new_session();
    if (!session) return session.error();
    model.sequence = std::make_unique<LiveSequence>(std::move(*session));
    return model;
}

}  // namespace ft::cli
