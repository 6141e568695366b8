// Sequences that gave up their pages for others: in files of a folder that the user named, or, where none is
// named, in RAM as far as the budget leaves room. What finds no place is read again. A folder that cannot be
// written to any more is said once; from then on nothing is parked. Owner: the engine's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "engine/sequence_copy.h"
#include "kv/page_pool.h"
#include "model/ops.h"

namespace ft {

class Parking {
 public:
    // folder: "" for RAM, of which ram_bytes may be used. model: sequence_model_key().
    // Files that a program left in the folder when it was ended are removed.
    Parking(std::string folder, uint64_t ram_bytes, uint64_t model);
    ~Parking();  // removes its files
    Parking(const Parking&) = delete;
    Parking& operator=(const Parking&) = delete;

    using Place = uint64_t;
    // Nothing: there is no room, or the folder could not be written.
    std::optional<Place> save(std::span<const int32_t> ids, const PagePool& pool,
                              const SequenceMemory& memory);
    // Into a sequence that was just begun, with pages of its own. False, and one line of log: the file cannot
    // be read.
    bool restore(Place place, const PagePool& pool, SequenceMemory& memory);
    void remove(Place place);

    size_t n_file() const { return files_.size(); }
    uint64_t ram_used() const { return ram_used_; }  // bytes

 private:
    std::string path(Place place) const;
    std::optional<Place> save_in_ram(int64_t n_position, const PagePool& pool, const SequenceMemory& memory);

    const std::string folder_;
    bool writable_;
    const uint64_t ram_bytes_;
    const uint64_t model_;
    std::set<Place> files_;
    std::map<Place, SequenceCopy> copies_;
    uint64_t ram_used_ = 0;
    Place next_ = 1;
};

}  // namespace ft
