// What the settings say of a request: everything that a client leaves out.
#pragma once

#include <optional>
#include <string>

#include "config/settings.h"
#include "engine/request.h"
#include "text/tokenizer.h"

namespace ft {

struct RequestDefaults {
    Request request;  // without a prompt; end_ids are the model's, also with ignore_eos
    bool ignore_eos = false;
    bool seed_is_chosen = false;   // false: every request draws one of its own
    bool top_p_is_chosen = false;  // by the user, or by the model's file
    std::optional<bool> think;     // inference.think, for the template
    std::string system;            // inference.system; "": none
};

// An error names the setting: a logit_bias that is no ID+X, or of no token of this vocabulary.
Expected<RequestDefaults> request_defaults(const Settings& settings, const Tokenizer& tokenizer);

// A seed for a request that names none.
uint64_t random_seed();

}  // namespace ft
