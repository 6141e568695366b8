// Files of sequences that gave up their pages for others, in a folder that the user named. A folder that
// cannot be written to any more is said once; from then on nothing is parked there, and what would have been
// is read again. Owner: the engine's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "kv/page_pool.h"
#include "model/ops.h"

namespace ft {

class Parking {
 public:
    // folder: "" for none. model: sequence_model_key().
    Parking(std::string folder, uint64_t model)
        : folder_(std::move(folder)), writable_(!folder_.empty()), model_(model) {}
    ~Parking();  // removes its files
    Parking(const Parking&) = delete;
    Parking& operator=(const Parking&) = delete;

    using Place = uint64_t;
    // Nothing: there is no folder, or it could not be written.
    std::optional<Place> save(std::span<const int32_t> ids, const PagePool& pool,
                              const SequenceMemory& memory);
    // Into pages of its own for all of its ids. False, and one line of log: the file cannot be read.
    bool restore(Place place, const PagePool& pool, SequenceMemory& memory);
    void remove(Place place);

    size_t n_file() const { return places_.size(); }

 private:
    std::string path(Place place) const;

    const std::string folder_;
    bool writable_;
    const uint64_t model_;
    std::set<Place> places_;
    Place next_ = 1;
};

}  // namespace ft
