// The form of an answer that has to be a call of a function.
#pragma once

#include "server/tools/tool_fields.h"

namespace ft {

class Tokenizer;
struct Request;

// The JSON schema of {"name": …, "arguments": {…}}, with the arguments of the function that is called: of any
// of the offer, or of the one that it names. References in the functions' schemas stay whole.
nlohmann::ordered_json forced_call_schema(const ToolOffer& offer);

// Binds the answers of a request to a call, where the offer asks for one. field: that asks, for errors. A
// function whose schema is not supported may be called with any object.
void force_call(const ToolOffer& offer, const char* field, const Tokenizer& tokenizer, JsonFields& fields,
                Request& request);

}  // namespace ft
