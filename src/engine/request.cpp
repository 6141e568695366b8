#include "engine/request.h"

#include <limits>

namespace ft {

void Request::ignore_end() {
    for (const int32_t id : end_ids)
        sampling.logit_bias.push_back({id, -std::numeric_limits<float>::infinity()});
    end_ids.clear();
}

}  // namespace ft
