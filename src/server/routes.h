// The table of routes: a path that the server answers is a row here and a function beside it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "server/visit.h"

namespace ft {

class Service;

// What must be there before a route is taken.
enum class Needs {
    nothing,
    key,    // one of the server's keys, where it has some
    model,  // a key, and the model loaded
};

struct WebRoute {
    const char* method;
    const char* path;  // with a * at the end: and all that begins so
    Dialect dialect;
    Needs needs;
    void (*answer)(Service& service, Visit visit);  // called on the connections' thread
};

std::span<const WebRoute> routes();
const WebRoute* find_route(std::string_view method, std::string_view path);  // nullptr: none
// Those that a path has: "GET, HEAD"; "" where there is no such path.
std::string methods_of(std::string_view path);
// 404, or 405 where the path has other methods.
ApiError no_route(std::string_view method, std::string_view path);
// In whose words errors of a path are told, whether it exists or not.
Dialect dialect_of_path(std::string_view path);

// info_routes.cpp: what the server says of itself
void answer_root(Service& service, Visit visit);
void answer_health(Service& service, Visit visit);
void answer_alive(Service& service, Visit visit);
void answer_stats(Service& service, Visit visit);
void answer_requests(Service& service, Visit visit);
void answer_metrics(Service& service, Visit visit);

// model_routes.cpp: the model that is served, and what is not offered
void answer_models(Service& service, Visit visit);
void answer_model(Service& service, Visit visit);
void answer_ollama_tags(Service& service, Visit visit);
void answer_ollama_ps(Service& service, Visit visit);
void answer_ollama_show(Service& service, Visit visit);
void answer_ollama_version(Service& service, Visit visit);
void answer_not_offered(Service& service, Visit visit);

// text_routes.cpp: texts and ids
void answer_tokenize(Service& service, Visit visit);
void answer_detokenize(Service& service, Visit visit);
void answer_apply_template(Service& service, Visit visit);
void answer_render_chat(Service& service, Visit visit);
void answer_render_completion(Service& service, Visit visit);
void answer_count_tokens(Service& service, Visit visit);

// embedding_routes.cpp: texts and vectors
void answer_embeddings(Service& service, Visit visit);
void answer_ollama_embed(Service& service, Visit visit);
void answer_ollama_embeddings(Service& service, Visit visit);

// answer_routes.cpp: what the model writes
void answer_endpoint(Endpoint endpoint, Service& service, Visit visit);

}  // namespace ft
