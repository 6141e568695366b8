// A chat by a Go template, as Ollama renders it. A template that reads .Messages gets the whole conversation;
// another is rendered turn after turn with .System, .Prompt and .Response, the last turn only up to its
// .Response. Neighbours of one role are joined by an empty line, but for results of tools and for messages
// with calls. Characters that a template cuts through become U+FFFD.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "text/go/ast.h"
#include "text/jinja/heap.h"
#include "text/jinja/strftime.h"

namespace ft::go {

// context: as of ChatContext; messages, tools, enable_thinking and reasoning_effort are read. Fails
// (jinja::Failure) with the template's line.
std::string render_chat(const Template& parsed, const nlohmann::ordered_json& context,
                        const jinja::Limits& limits, const std::optional<jinja::LocalTime>& now);

}  // namespace ft::go
