// Whether a model that is still on a server would run here, from its header alone.
#pragma once

#include <optional>
#include <string>

#include "cli/model_flags.h"
#include "hub/download.h"
#include "tiers/plan.h"

namespace ft::cli {

struct RemoteModel {
    std::string quantisation;    // by its tensors, as `show` names it; "" where unknown
    bool dense = false;          // every token needs all of its weights
    std::optional<Error> wrong;  // nothing that this program runs
    std::optional<Plan> plan;    // on this machine, with the settings in force
};

// Reads the headers of all parts; `first` is the first part's address. Errors: the server, or a file that is
// no GGUF.
Expected<RemoteModel> look_at_remote(const std::string& first, const HttpToken& token,
                                     const ModelChoice& choice, const Patience& patience);

// A sentence for each thing that a user should know before 20 GB are fetched.
std::vector<std::string> remote_warnings(const RemoteModel& model);

// An error where the model does not run here.
Status check_runs_here(const RemoteModel& model, const std::string& name);

}  // namespace ft::cli
