#include "cli/timings.h"

namespace ft::cli {

nlohmann::ordered_json to_json(const Timings& t) {
    nlohmann::ordered_json json = {{"prompt_n", t.prompt_n},
                                   {"prompt_ms", t.prompt_ms},
                                   {"prompt_per_second", t.prompt_per_second()},
                                   {"predicted_n", t.predicted_n},
                                   {"predicted_ms", t.predicted_ms},
                                   {"predicted_per_second", t.predicted_per_second()},
                                   {"ttft_ms", t.ttft_ms},
                                   {"load_ms", t.load_ms},
                                   {"read_gb_per_second", t.read_gb_per_second()}};
    if (t.experts)
        json["experts"] = {{"hits", t.experts->hits},
                           {"misses", t.experts->misses},
                           {"hit_rate", t.experts->hit_rate()},
                           {"drive_bytes", t.experts->bytes_read},
                           {"drive_gb_per_second", t.experts->read_gb_per_second()},
                           {"wait_ms", t.experts->wait_seconds * 1e3}};
    return json;
}

}  // namespace ft::cli
