// The routes that turn texts into ids and back, with nothing computed by the model.
#include <nlohmann/json.hpp>

#include "server/event_lines.h"
#include "server/json_body.h"
#include "server/routes.h"
#include "server/service.h"
#include "server/text_bodies.h"
#include "server/work_bytes.h"

namespace ft {

namespace {

// Reads a body on a work thread, and answers.
void answer_text(TextRoute route, Service& service, Visit visit) {
    service.work(std::move(visit), [&service, route](const Visit& taken) {
        const auto body = parse_json(taken.request.body);
        if (!body) return refuse(taken, no_json_body(body.error()));
        std::optional<ApiError> error;
        // Beside what reading the body takes, which is held already.
        const uint64_t held = taken.request.room ? taken.request.room->bytes() : 0;
        const auto room = [&](uint64_t bytes) { return take_room(taken.request, held + bytes); };
        std::string made =
            text_answer(route, *body, service.model(), service.options().info.name, room, error);
        if (error) refuse(taken, *error);
        else answer_large(taken, std::move(made));
    });
}

}  // namespace

void answer_tokenize(Service& service, Visit visit) {
    answer_text(TextRoute::tokenize, service, std::move(visit));
}
void answer_detokenize(Service& service, Visit visit) {
    answer_text(TextRoute::detokenize, service, std::move(visit));
}
void answer_apply_template(Service& service, Visit visit) {
    answer_text(TextRoute::apply_template, service, std::move(visit));
}
void answer_render_chat(Service& service, Visit visit) {
    answer_text(TextRoute::render_chat, service, std::move(visit));
}
void answer_render_completion(Service& service, Visit visit) {
    answer_text(TextRoute::render_completion, service, std::move(visit));
}
void answer_count_tokens(Service& service, Visit visit) {
    answer_text(TextRoute::count_tokens, service, std::move(visit));
}

}  // namespace ft
