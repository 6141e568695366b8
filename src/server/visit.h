// A client's request on its way to an answer, and the ways to answer it at once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/http_server.h"
#include "server/endpoint_call.h"

namespace ft {

struct Visit {
    WebRequest request;
    std::shared_ptr<Responder> responder;
    std::vector<WebHeader> headers = {};  // of every answer to it
    Dialect dialect = Dialect::native;
    std::string id = {};                   // letters and digits that no other has
    std::shared_ptr<void> under_way = {};  // while it lives, a server that stops waits for it
};

// The lane that the header X-FreeToken-Lane names; an error where it is none.
Expected<std::optional<Lane>> lane_of(const WebRequest& request);

// The reply with the headers of the visit.
WebReply dressed(const Visit& visit, WebReply reply);

void answer(const Visit& visit, WebReply reply);
void answer_json(const Visit& visit, const nlohmann::ordered_json& body);
// A JSON text that may be large, so that it counts as what the request has of the room for all until it is
// sent.
void answer_large(const Visit& visit, std::string json);
void refuse(const Visit& visit, const ApiError& error);

// In the words of the dialect, with Retry-After and WWW-Authenticate where they belong.
WebReply refusal(Dialect dialect, const ApiError& error);

}  // namespace ft
