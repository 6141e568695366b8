// The routes that tell of the model, and those of things that this program does not do.
#include "server/model_lists.h"

#include <nlohmann/json.hpp>

#include "server/event_lines.h"
#include "server/json_body.h"
#include "server/json_fields.h"
#include "server/routes.h"
#include "server/service.h"

namespace ft {

namespace {

ApiError unknown_model(std::string_view name, const std::string& served) {
    return {.status = 404,
            .message = fmt::format("the model {} is not here, {} is.", printable(name), served),
            .type = "not_found_error",
            .param = "model",
            .code = "model_not_found"};
}

// Clients of Anthropic's say so; the path is the same.
bool speaks_anthropic(const Visit& visit) { return !visit.request.header("anthropic-version").empty(); }

void show_model(Service& service, const Visit& visit) {
    const auto body = parse_json(visit.request.body);
    if (!body) return refuse(visit, no_json_body(body.error()));
    if (!body->is_object()) return refuse(visit, {.message = "the body is no JSON object."});
    std::optional<ApiError> error;
    JsonFields fields(*body, error);
    std::optional<std::string> name = fields.text("model");
    if (!name) name = fields.text("name");
    if (!name && !error) fields.fail("model", "model is missing.");
    if (error) return refuse(visit, *error);
    const ServedModelInfo info = service.info();
    if (!is_served_model(*name, info.name)) return refuse(visit, unknown_model(*name, info.name));
    answer_json(visit, ollama_show(info));
}

}  // namespace

void answer_models(Service& service, Visit visit) {
    const ServedModelInfo info = service.info();
    answer_json(visit, speaks_anthropic(visit) ? anthropic_models(info) : openai_models(info));
}

void answer_model(Service& service, Visit visit) {
    constexpr std::string_view k_before = "/v1/models/";
    const ServedModelInfo info = service.info();
    if (speaks_anthropic(visit)) visit.dialect = Dialect::anthropic;
    const std::string name = percent_decoded(std::string_view(visit.request.path).substr(k_before.size()));
    if (!is_served_model(name, info.name)) return refuse(visit, unknown_model(name, info.name));
    answer_json(visit, speaks_anthropic(visit) ? anthropic_model(info) : openai_model(info));
}

void answer_ollama_tags(Service& service, Visit visit) { answer_json(visit, ollama_tags(service.info())); }

void answer_ollama_ps(Service& service, Visit visit) { answer_json(visit, ollama_ps(service.info(), 0)); }

void answer_ollama_version(Service& service, Visit visit) {
    answer_json(visit, ollama_version(service.options().version));
}

void answer_ollama_show(Service& service, Visit visit) {
    service.work(std::move(visit), [&service](const Visit& taken) { show_model(service, taken); });
}

void answer_not_offered(Service&, Visit visit) {
    refuse(visit, {.message = fmt::format("{} is not offered: this program reads and writes text.",
                                          printable(visit.request.path)),
                   .code = "not_offered"});
}

}  // namespace ft
