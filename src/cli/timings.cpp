#include "cli/timings.h"

namespace ft::cli {

nlohmann::ordered_json to_json(const Timings& t) {
    return {{"prompt_n", t.prompt_n},
            {"prompt_ms", t.prompt_ms},
            {"prompt_per_second", t.prompt_per_second()},
            {"predicted_n", t.predicted_n},
            {"predicted_ms", t.predicted_ms},
            {"predicted_per_second", t.predicted_per_second()},
            {"ttft_ms", t.ttft_ms},
            {"load_ms", t.load_ms},
            {"read_gb_per_second", t.read_gb_per_second()}};
}

}  // namespace ft::cli
