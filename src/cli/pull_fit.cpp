#include "cli/pull_fit.h"

#include <algorithm>

#include "cli/plan_settings.h"
#include "cli/quantisation_note.h"
#include "cli/serving_settings.h"
#include "device/cpu.h"
#include "device/profile.h"
#include "engine/model_shape.h"
#include "gguf/summary.h"
#include "hub/remote_file.h"
#include "kernels/kernels.h"

namespace ft::cli {

namespace {

constexpr std::string_view k_all_the_same = "--force downloads it all the same.";

Expected<Plan> plan_of_remote(const Gguf& file, const Model& model, const ModelChoice& choice) {
    const auto ram = read_ram();
    if (!ram) return ram.error();
    const auto kernels = choose_kernels();
    if (!kernels) return kernels.error();
    const ModelShape shape =
        model_shape(file, model, kv_options(choice.settings).types, **kernels, thread_count(choice.settings));
    return plan({.ram_total = ram->total_bytes, .ram_available = ram->fillable_bytes(), .card = {}}, shape,
                plan_settings(choice));
}

}  // namespace

Expected<RemoteModel> look_at_remote(const std::string& first, const HttpToken& token,
                                     const ModelChoice& choice, const Patience& patience) {
    const auto open = [&](const std::string& url) { return open_remote_with(url, token, patience); };
    const auto file = Gguf::open(first, Gguf::Cut::allow, open);
    if (!file) return file.error();
    const Summary summary = summarise(*file);
    RemoteModel remote{
        .quantisation = summary.quantisation, .dense = summary.n_experts == 0, .wrong = {}, .plan = {}};
    const auto bound = Model::bind(*file);
    if (!bound) {
        remote.wrong = bound.error();
        return remote;
    }
    auto planned = plan_of_remote(*file, **bound, choice);
    if (!planned) return planned.error();
    remote.plan = std::move(*planned);
    return remote;
}

std::vector<std::string> remote_warnings(const RemoteModel& model) {
    std::vector<std::string> warnings;
    if (model.dense)
        warnings.push_back(
            "this model is dense: every token needs all of its weights, so that nothing is gained from "
            "experts on the drive. A mixture of experts of the same size (A3B in its name, say) is many "
            "times as fast.");
    if (std::string note = low_quantisation_note(model.quantisation); !note.empty())
        warnings.push_back(std::move(note));
    return warnings;
}

Status check_runs_here(const RemoteModel& model, const std::string& name) {
    if (model.wrong) {
        Error error = *model.wrong;
        error.remedy += error.remedy.empty() ? "" : " ";
        error.remedy += k_all_the_same;
        return error;
    }
    if (!model.plan || model.plan->fits) return {};
    return Error{Code::too_large,
                 fmt::format("{} does not fit this machine: {}", printable(name), model.plan->shortage),
                 fmt::format("Take a smaller quantisation, or a smaller model; {}", k_all_the_same)};
}

}  // namespace ft::cli
